"""Records some of a program's steps with torch's profiler, and times plain ones around them.

The one way in which steps are profiled: `tailwave.profile` has it record a loop, the hook a program
under `tailwave record`, `try` or `fix`. So it needs the standard library alone and the torch that
the program has imported, and it is told of each step's end, once, by a mark.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Final

from tailwave.cures.library.steps import GpuSteps, HostSteps

if TYPE_CHECKING:
    from gzip import GzipFile

# The key of a trace under which the measured step stands; `docs/profile.md` says what is in it.
KEY: Final = "tailwave"
# No recording is longer, whatever its steps take: a trace grows by some 10 MB a second.
LONGEST_S: Final = 20.0
# A figure of plain steps is the mean of so many at least, and of so much time: short steps jitter.
WINDOW_STEPS: Final = 12
WINDOW_US: Final = 50_000.0
# Steps are steady when the means of a window's thirds are no further apart than this.
STEADY: Final = 1.05
_FEWEST: Final = 4  # of what a program that ended early has timed, a mean of fewer is none
_LONGEST_WARMUP_S: Final = 60.0
# Ranks wait for each other, so all must do the same at the same step: they count, and look at no
# clock. Elsewhere steps are left out after a pause for as long as it took: a data loader has
# filled its queue meanwhile, and its next steps are fed as no others are.
_TIMED_TOGETHER: Final = 24
_LEFT_OUT_TOGETHER: Final = 4
_MOST_LEFT_OUT: Final = 16
_SHORT_PAUSE_S: Final = 0.05  # too short for that
_LOOK_EACH: Final = 4  # marks of the warm-up, so that a mark stays cheap
# From this CUDA on CUPTI can leave a process whatever runs in it (before, CUDA graphs crashed).
_CUPTI_LEAVES: Final = (12, 6)
_TEARDOWN: Final = "TEARDOWN_CUPTI"

Phase = Callable[[], "Phase"]  # takes a mark, and gives what takes the next


class TorchProfile:
    """One recording; its steps are annotated as ``ProfilerStep#n``, as torch's own are.

    In its order: a warm-up whose last steps are timed (with events, so that nothing waits and a
    host that runs ahead goes on to), steps left out, recorded ones, steps left out, plain ones once
    more. Then the trace is written, and a mark does nothing. What raises ends it for good.

    Attributes:
        steps: Whole steps recorded so far.
        is_running: Whether it records just now.
        written: Whether the trace is there.
    """

    def __init__(
        self,
        torch: ModuleType,
        path: Path,
        *,
        steps: int,
        warmup: int,
        paused: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for marks; after ``warmup`` of them it records, be the steps steady or not.

        ``paused`` is told when the profiler itself has taken time.
        """
        self.steps = 0
        self.is_running = self.written = False
        self._torch, self._path, self._paused = torch, path, paused
        self._most, self._warmup = steps, warmup
        self._clock: HostSteps | GpuSteps = HostSteps()
        self._marks = self._left_out = 0
        self._first_mark = self._resumed = self._pause_s = 0.0
        self._before: Sequence[float] = ()
        self._profiler: Any = None
        self._step: Any = None
        self._leaves = self._stopped = self._together = False
        self._phase: Phase = self._warm_up

    def mark(self) -> None:
        """Take the end of a step."""
        phase, self._phase = self._phase, self._rest  # where it stays if this raises
        self._phase = phase()

    def start(self) -> None:
        """Record from now on, until `finish`: a program without marks."""
        self._phase = self._rest
        profiler = self._made()
        self._pausing(profiler.start)
        self._profiler, self.is_running = profiler, True

    def finish(self) -> None:
        """Write what there is: the loop is over, or the recording long enough."""
        self._phase = self._rest
        if self._profiler is None or self.written:
            return
        if self.is_running:
            self._pausing(self._stop)
        if self._stopped:
            self._pausing(self._write)
        else:  # it only got ready; torch's profiler ends after its start alone
            self._profiler.start_trace()
            self._profiler.stop()

    def _rest(self) -> Phase:
        return self._rest

    def _warm_up(self) -> Phase:
        if self._marks == 0:
            self._first_mark, self._together = time.monotonic(), rank()[1] > 1
        self._time()
        if not self._is_warm():
            return self._warm_up
        times = list(self._clock.us)
        self._before = times[-max(len(latest(times)), len(times) // 2) :] if times else ()
        self._clock, self._marks = HostSteps(), 0
        profiler = self._made()
        self._pausing(profiler.prepare_trace)
        self._profiler = profiler
        return self._get_ready

    def _is_warm(self) -> bool:
        if self._together:
            return self._marks >= min(self._warmup, _TIMED_TOGETHER)
        if self._marks >= self._warmup:
            return True
        if self._marks % _LOOK_EACH or len(self._clock.us) < WINDOW_STEPS:
            return False
        late = time.monotonic() - self._first_mark > _LONGEST_WARMUP_S
        return late or is_steady(latest(self._clock.us))

    def _get_ready(self) -> Phase:
        """Let steps pass under the profiler, which keeps nothing of them."""
        if not self._is_settled():
            return self._get_ready
        self._pausing(self._profiler.start_trace)
        self.is_running = True
        self._open_step()
        return self._record

    def _record(self) -> Phase:
        self._close_step()
        self.steps += 1
        if self.steps < self._most and time.monotonic() - self._resumed < LONGEST_S:
            self._open_step()
            return self._record
        self._leaves = _cupti_leaves(self._torch)
        self._pausing(self._stop)
        return self._get_going

    def _get_going(self) -> Phase:
        """Let steps pass until the program is as it was before the recording."""
        if not self._is_settled():
            return self._get_going
        self._time()
        return self._time_after

    def _time_after(self) -> Phase:
        self._time()
        times = self._clock.us
        if self._together:
            is_enough = self._marks >= _TIMED_TOGETHER
        else:
            is_enough = len(times) >= len(self._before) and bool(latest(times))
        if not is_enough:
            return self._time_after
        self._pausing(self._write)
        return self._rest

    def _time(self) -> None:
        self._marks += 1
        if isinstance(self._clock, HostSteps) and self._torch.cuda.is_initialized():
            self._clock = GpuSteps(self._torch)
        self._clock.mark()

    def _is_settled(self) -> bool:
        self._left_out += 1
        if self._together:
            return self._left_out >= _LEFT_OUT_TOGETHER
        long_enough = time.monotonic() - self._resumed >= self._pause_s - _SHORT_PAUSE_S
        return long_enough or self._left_out >= min(_MOST_LEFT_OUT, self._warmup)

    def _pausing(self, call: Callable[[], None]) -> None:
        began = time.monotonic()
        call()
        self._left_out, self._resumed = 0, time.monotonic()
        self._pause_s = self._resumed - began
        self._paused()

    def _made(self) -> Any:  # noqa: ANN401 - torch is not imported here
        profiler = self._torch.profiler
        activities = profiler.supported_activities()
        try:
            config = self._torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)  # noqa: SLF001 - there is no public name
        except (AttributeError, TypeError):  # a torch before 2.2
            return profiler.profile(activities=activities)
        return profiler.profile(activities=activities, experimental_config=config)

    def _open_step(self) -> None:
        self._step = self._torch.profiler.record_function(f"ProfilerStep#{self.steps}")
        self._step.__enter__()

    def _close_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def _stop(self) -> None:
        self._close_step()
        self.is_running = False
        self._profiler.stop()
        self._stopped = True

    def _write(self) -> None:
        """Write the trace in the place of what is there, with what was measured at its head."""
        made = self._path.with_name(f".{self._path.name}.{os.getpid()}.json")
        whole = made.with_suffix(".part")
        self._clock.finish()
        try:
            self._profiler.export_chrome_trace(str(made))
            _copy_with(made, whole, {KEY: self._measured()}, packed=self._path.suffix == ".gz")
            whole.replace(self._path)
        finally:
            made.unlink(missing_ok=True)
            whole.unlink(missing_ok=True)
        self._profiler = None  # a trace takes memory
        self.written = True
        if self._leaves:  # with a call of CUDA, and there may be no other
            self._torch.cuda.synchronize()

    def _measured(self) -> dict[str, object]:
        """Return the mean of plain steps (us), before, after and of both, where there are any."""
        before = self._before if len(self._before) >= _FEWEST else ()
        after = list(self._clock.us) if len(self._clock.us) >= _FEWEST else ()
        # Where CUPTI stays in the process, each call of CUDA goes on taking longer.
        counted = [_mean(times) for times in (before, after if self._leaves else ()) if times]
        found: dict[str, object] = {}
        if counted:
            found["plain_step_us"] = _mean(counted)
        if before:
            found |= {"plain_before_us": _mean(before), "steady": is_steady(before)}
        if after:
            found["plain_after_us"] = _mean(after)
        return {**found, "steps_timed": len(before) + len(after)}


def latest(times: Sequence[float]) -> list[float]:
    """Return the latest step times (us) that make up a window; nothing of too few."""
    total, count = 0.0, 0
    for us in reversed(times):
        total, count = total + us, count + 1
        if count >= WINDOW_STEPS and total >= WINDOW_US:
            return list(times)[-count:]
    return []


def is_steady(times: Sequence[float]) -> bool:
    """Tell whether the thirds of some step times have the same mean, nearly."""
    third = len(times) // 3
    means = [_mean(times[n * third : (n + 1) * third]) for n in range(3)] if third else [0.0]
    return 0 < max(means) <= STEADY * min(means)


def _mean(times: Sequence[float]) -> float:
    return round(sum(times) / len(times), 3)


def rank() -> tuple[int, int]:
    """Return this process's rank and how many there are: 0 of 1 where it is alone."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return 0, 1


def _cupti_leaves(torch: ModuleType) -> bool:
    """Have torch's profiler take CUPTI out of the process when it stops, and tell if it will.

    Left attached, CUPTI makes each launch dearer for good: a launch-bound step by a quarter to a
    half (docs/record.md). What the user has set for that variable of Kineto's stays.
    """
    version = str(torch.version.cuda or "0.0").split(".")
    if tuple(map(int, version[:2])) < _CUPTI_LEAVES:
        return False
    return os.environ.setdefault(_TEARDOWN, "1") == "1"


def _copy_with(trace: Path, to: Path, values: dict[str, object], *, packed: bool) -> None:
    """Copy a trace, with values before the others of its object; packed with gzip if so wanted."""
    with trace.open("rb") as source, _opened(to, packed=packed) as target:
        head, brace, rest = source.read(1 << 16).partition(b"{")
        target.write(head + brace + json.dumps(values)[1:-1].encode() + b", " + rest)
        while block := source.read(1 << 20):
            target.write(block)


def _opened(path: Path, *, packed: bool) -> IO[bytes] | GzipFile:
    if not packed:
        return path.open("wb")
    import gzip  # noqa: PLC0415 - not under the hook, where the program may have one of its own

    # Level 1: of a trace of a gigabyte the others take minutes and save little.
    return gzip.open(path, "wb", 1)
