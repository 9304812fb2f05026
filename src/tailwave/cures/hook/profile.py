"""Records a part of the run with torch's profiler: some steps, or, without marks, some seconds."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tailwave.cures.hook import plan
from tailwave.cures.hook.guard import Guard

# No recording is longer, whatever its steps take: a trace grows by some 10 MB a second.
LONGEST_S = 20.0


class Profile:
    """One recording. The steps in it are annotated as ``ProfilerStep#n``, as torch's own are.

    A program without marks is recorded by time. What was recorded so of one that only warmed up or
    loaded for long before its first mark is replaced by a recording of its steps.
    """

    def __init__(self, wanted: plan.Profile, cut: Callable[[], None]) -> None:
        """Wait for marks or for CUDA; ``cut`` is told when the profiler itself takes time."""
        self._wanted, self._cut = wanted, cut
        self._guard = Guard()
        self._torch: ModuleType | None = None
        self._recording: Any = None
        self._step: Any = None
        self._marks = self._steps = 0
        self._written = self._over = self._by_time = False

    def torch_arrived(self, torch: ModuleType) -> None:
        """Take note that torch is there to record with."""
        self._torch = torch

    def cuda_came_up(self) -> None:
        """Count the seconds after which a program without marks is recorded."""
        self._later(self._wanted.after_seconds, self._begin_by_time)

    def marked(self) -> None:
        """Begin, go on or end at the end of a step."""
        self._marks += 1
        if self._by_time:
            self._by_time = False
            self.end()
            self._over = False
        if self._over or self._torch is None:
            return
        with self._guard:
            if self._step is not None:
                self._close_step()
                if self._steps >= self._wanted.steps:
                    self.end()
                    return
                self._open_step()
            elif self._recording is None and self._marks >= self._wanted.after_steps:
                self._begin(LONGEST_S)
                self._open_step()

    def end(self) -> None:
        """End the recording, if it runs, and write it."""
        self._over = True
        recording, self._recording = self._recording, None
        if recording is None:
            return
        with self._guard:
            if self._step is not None:
                self._step.__exit__(None, None, None)
                self._step = None
            recording.stop()
            recording.export_chrome_trace(str(self._wanted.trace))
            self._written = True
        self._cut()

    def document(self) -> dict[str, object]:
        """Give the trace's path ("" for none), its whole steps, and why there is none."""
        trace = str(self._wanted.trace) if self._written else ""
        return {"trace": trace, "steps": self._steps, "why_not": "" if trace else self._why_not()}

    def _why_not(self) -> str:
        if self._guard.error:
            return self._guard.error
        if self._torch is None:
            return "the program did not import torch"
        return "the program ended before the recording was due"

    def _begin_by_time(self) -> None:
        if self._marks == 0 and not self._over:
            with self._guard:
                self._by_time = True
                self._begin(self._wanted.seconds)

    def _begin(self, longest_s: float) -> None:
        assert self._torch is not None  # noqa: S101  # both callers have seen it
        profiler = self._torch.profiler
        recording = profiler.profile(activities=profiler.supported_activities())
        recording.start()
        self._recording = recording
        self._cut()
        self._later(longest_s, lambda: self._end_of(recording))

    def _end_of(self, recording: object) -> None:
        """End this recording, unless another has taken its place since."""
        if self._recording is recording:
            self.end()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, in_main_thread, (call,))
        timer.daemon = True
        timer.start()

    def _open_step(self) -> None:
        assert self._torch is not None  # noqa: S101  # as above
        self._step = self._torch.profiler.record_function(f"ProfilerStep#{self._steps}")
        self._step.__enter__()

    def _close_step(self) -> None:
        self._step.__exit__(None, None, None)
        self._step = None
        self._steps += 1


def in_main_thread(call: Callable[[], None]) -> None:
    """Have the main thread call, soon; ``call`` must not raise.

    torch records the operations of the thread that started its profiler, so a timer's thread must
    not start it. Python offers this way in C alone (Py_AddPendingCall); it needs no signal, which
    the program might use for itself.
    """

    def pending(_: int | None) -> int:
        call()
        _waiting.remove(callback)
        return 0

    callback = _Pending(pending)
    _waiting.append(callback)
    if ctypes.pythonapi.Py_AddPendingCall(callback, None) != 0:
        _waiting.remove(callback)


_Pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_waiting: list[object] = []  # C keeps no reference to a callback
