"""What is noted of sampling runs: the denoising calls, their time on the GPU, their launches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from . import gpu
from .foreign import Event

# The first call loads and warms up, and the second may still tune; the third is like the rest.
COUNTED_CALL = 2


@dataclass
class Run:
    """One sampling run. Times are in milliseconds, and exist once it has finished."""

    steps: int | None  # None where the sampler's arguments do not say
    calls: int = 0
    finished: bool = False
    seconds: float = 0.0
    launches: gpu.Launches | None = None
    call_ms: list[float] = field(default_factory=list)  # of calls that were neither first
    # nor counted: those take longer for reasons of their own
    _marks: list[tuple[Event, Event]] = field(default_factory=list)

    def close(self, seconds: float) -> None:
        """Read the times from the GPU, waiting for its last call."""
        if self._marks:
            self._marks[-1][1].synchronize()
        self.call_ms = [begin.elapsed_time(end) for begin, end in self._marks]
        self._marks.clear()
        self.seconds = seconds
        self.finished = True

    def call(self, work: Callable[[], object], *, count_launches: bool) -> object:
        """Do one denoising call, and note its time or its launches."""
        number = self.calls
        self.calls += 1
        if count_launches and number == COUNTED_CALL:
            result, self.launches = gpu.launches_in(work)
            return result
        begin = gpu.event()
        result = work()
        end = gpu.event()
        if number > 0:
            self._marks.append((begin, end))
        return result


class Recorder:
    """Notes the runs of one partition node; keeps the last."""

    def __init__(self, *, count_launches: bool) -> None:
        """Begin with no run."""
        self.count_launches = count_launches
        self.last: Run | None = None
        self._current: Run | None = None

    @contextmanager
    def run(self, steps: int | None) -> Iterator[None]:
        """Note a run; one that an exception ends stays unfinished, and the exception goes on."""
        before, run = self._current, Run(steps)
        self._current = self.last = run
        began = time.perf_counter()
        try:
            yield
            run.close(time.perf_counter() - began)
        finally:
            self._current = before

    def call(self, work: Callable[[], object]) -> object:
        """Do a denoising call; outside a run it is only done."""
        if self._current is None:
            return work()
        return self._current.call(work, count_launches=self.count_launches)
