"""Step times: from mark to mark, on the GPU's clock where there is one, else on the host's."""

from __future__ import annotations

import time
from collections import deque
from types import ModuleType
from typing import NamedTuple, Protocol

# The times kept are the latest ones; beyond this many a program's tail is known well enough.
MOST_STEPS = 100_000
# A program in the middle of its run writes only its latest steps, so that writing takes no longer
# than about a millisecond.
RECENT_STEPS = 2_000
# Marks whose GPU work is not done yet. The driver's own queue holds some 1,000 launches, so that a
# host cannot run further ahead than this; a mark beyond it is left out with its two steps.
MOST_PENDING = 4_096
# Marks resolved at a mark: one comes in, so two drain the queue and a mark stays cheap.
_RESOLVED_A_MARK = 2


class Event(Protocol):
    """What is used of ``torch.cuda.Event``."""

    def record(self) -> None:
        """Record it in the current stream."""

    def query(self) -> bool:
        """Tell whether the work before it is done."""

    def synchronize(self) -> None:
        """Wait for the work before it."""

    def elapsed_time(self, other: Event, /) -> float:
        """Give the time from this event to another (ms)."""


class _Mark(NamedTuple):
    """An event on a device; ``joined`` when the time since the mark before it is a step."""

    device: int
    event: Event
    joined: bool


class HostSteps:
    """Steps by ``perf_counter``."""

    def __init__(self) -> None:
        """Start without a mark."""
        self.us: deque[float] = deque(maxlen=MOST_STEPS)
        self._last: float | None = None

    def mark(self) -> None:
        """End a step."""
        now = time.perf_counter()
        if self._last is not None:
            self.us.append((now - self._last) * 1e6)
        self._last = now

    def cut(self) -> None:
        """Take the time from the last mark to the next for no step."""
        self._last = None

    def finish(self) -> None:
        """Wait for nothing: all is known."""


class GpuSteps:
    """Steps by CUDA events: each mark records one in its current stream, and waits for nothing."""

    def __init__(self, torch: ModuleType) -> None:
        """Start without a mark."""
        self.us: deque[float] = deque(maxlen=MOST_STEPS)
        self._cuda = torch.cuda
        self._free: dict[int, list[Event]] = {}
        self._pending: deque[_Mark] = deque()
        self._cut = True

    def mark(self) -> None:
        """End a step, unless the stream is being captured: an event there belongs to a graph."""
        if self._cuda.is_current_stream_capturing() or len(self._pending) >= MOST_PENDING:
            self.cut()
            self.resolve(_RESOLVED_A_MARK)
            return
        device = self._cuda.current_device()
        free = self._free.setdefault(device, [])
        event: Event = free.pop() if free else self._cuda.Event(enable_timing=True)
        event.record()
        joined = not self._cut and (not self._pending or self._pending[-1].device == device)
        self._pending.append(_Mark(device, event, joined))
        self._cut = False
        self.resolve(_RESOLVED_A_MARK)

    def cut(self) -> None:
        """Take the time from the last mark to the next for no step."""
        self._cut = True

    def resolve(self, most: int) -> None:
        """Turn marks that the GPU has passed into step times, the oldest first."""
        while most > 0 and len(self._pending) > 1:
            first, second = self._pending[0], self._pending[1]
            if not (first.event.query() and second.event.query()):
                return
            if second.joined:
                self.us.append(first.event.elapsed_time(second.event) * 1e3)
            self._free[first.device].append(first.event)
            self._pending.popleft()
            most -= 1

    def finish(self) -> None:
        """Wait for the GPU to pass every mark, and resolve them all."""
        for mark in self._pending:
            mark.event.synchronize()
        self.resolve(len(self._pending))


class Steps:
    """The steps of a process, on the host's clock until CUDA is up, then on the GPU's."""

    def __init__(self) -> None:
        """Start without a mark."""
        self.marks = 0
        self._host = HostSteps()
        self._gpu: GpuSteps | None = None

    def use_gpu(self, torch: ModuleType) -> None:
        """Time on the GPU's clock from now on."""
        self._gpu = GpuSteps(torch)

    def mark(self) -> None:
        """End a step."""
        self.marks += 1
        self._host.mark()
        if self._gpu is not None:
            self._gpu.mark()

    def cut(self) -> None:
        """Take the time from the last mark to the next for no step: the hook itself used it."""
        self._host.cut()
        if self._gpu is not None:
            self._gpu.cut()

    def document(self, *, final: bool) -> dict[str, object]:
        """Give the clock and the times (us): all at the end, before it those known by then."""
        if self._gpu is not None and final:
            self._gpu.finish()
        on_gpu = self._gpu is not None and len(self._gpu.us) > 0
        times = list(self._gpu.us if self._gpu is not None and on_gpu else self._host.us)
        recent = times if final else times[-RECENT_STEPS:]
        return {"clock": "gpu" if on_gpu else "host", "us": [round(us, 3) for us in recent]}
