"""Records a part of the run with torch's profiler: some steps, or, without marks, some seconds."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from types import ModuleType

from tailwave.cures.hook import plan
from tailwave.cures.hook.guard import Guard
from tailwave.cures.library.torch_profile import LONGEST_S, TorchProfile


class Profile:
    """One recording: of steps, as `TorchProfile` has it, or of a program without marks by time.

    What was recorded so of one that only warmed up or loaded for long before its first mark is
    replaced by a recording of its steps.
    """

    def __init__(self, wanted: plan.Profile, cut: Callable[[], None]) -> None:
        """Wait for marks or for CUDA; ``cut`` is told when the profiler itself takes time."""
        self._wanted, self._cut = wanted, cut
        self._guard = Guard()
        self._torch: ModuleType | None = None
        self._recording: TorchProfile | None = None
        self._marks = 0
        self._over = self._by_time = False

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
            self._over, self._recording = False, None
        if self._over or self._torch is None:
            return
        with self._guard:
            recording = self._recording = self._recording or self._made(self._torch)
            ran = recording.is_running
            recording.mark()
            if recording.is_running and not ran:
                self._later(LONGEST_S, lambda: self._end_of(recording))

    def end(self) -> None:
        """End the recording, if it runs, and write it."""
        self._over = True
        if self._recording is not None:
            with self._guard:
                self._recording.finish()

    def stand_back(self) -> None:
        """Record nothing: the program profiles itself, and a process has one profiler."""
        self.end()
        self._recording, self._by_time = None, False
        self._guard.note("the program records itself, with tailwave.profile")

    def document(self) -> dict[str, object]:
        """Give the trace's path ("" for none), its whole steps, and why there is none."""
        recording = self._recording
        written = recording is not None and recording.written
        return {
            "trace": str(self._wanted.trace) if written else "",
            "steps": 0 if recording is None else recording.steps,
            "why_not": "" if written else self._why_not(),
        }

    def _why_not(self) -> str:
        if self._guard.error:
            return self._guard.error
        if self._torch is None:
            return "the program did not import torch"
        return "the program ended before the recording was due"

    def _begin_by_time(self) -> None:
        if self._marks or self._over or self._torch is None:
            return
        with self._guard:
            self._by_time = True
            recording = self._recording = self._made(self._torch)
            recording.start()
            self._later(self._wanted.seconds, lambda: self._end_of(recording))

    def _made(self, torch: ModuleType) -> TorchProfile:
        wanted = self._wanted
        return TorchProfile(
            torch, wanted.trace, steps=wanted.steps, warmup=wanted.after_steps, paused=self._cut
        )

    def _end_of(self, recording: TorchProfile) -> None:
        """End this recording, unless another has taken its place since."""
        if self._recording is recording and recording.is_running:
            self.end()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, in_main_thread, (call,))
        timer.daemon = True
        timer.start()


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
