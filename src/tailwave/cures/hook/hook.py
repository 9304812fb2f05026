"""The hook of one process: it takes the marks, runs the actions and tells what it saw."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from tailwave.cures.hook.action import Action
from tailwave.cures.hook.guard import Guard
from tailwave.cures.hook.outputs import Outputs
from tailwave.cures.hook.plan import Plan, write_report
from tailwave.cures.hook.profile import Profile
from tailwave.cures.hook.settings import holds_gpu, settings
from tailwave.cures.library.steps import Steps

if TYPE_CHECKING:  # else it brings queue, before the program's own of that name
    from tailwave.cures.hook.recording.recording import Recording

_WRITE_EVERY_S = 1.0


class Hook:
    """What the hook knows of this process. Nothing here raises into the program."""

    def __init__(self, plan: Plan, *, main: bool, recording: Recording | None = None) -> None:
        """Start with nothing seen; ``recording`` takes what torch's profiler does not."""
        self._plan, self._recording = plan, recording
        self._main, self._forked = main, False
        self._torch: ModuleType | None = None
        self._cuda_is_up = False
        self._guard = Guard()
        # A signal's handler may come while its own thread holds it.
        self._lock = threading.RLock()
        self._steps, self._outputs = Steps(), Outputs()
        self._written = time.monotonic()
        self._actions: dict[str, Action] = {}
        self._profile: Profile | None = None
        if plan.profile is not None and (main or plan.record):
            wanted = plan.profile
            if plan.record:
                own = f"{wanted.trace.stem}-{os.getpid()}.json"
                wanted = replace(wanted, trace=wanted.trace.with_name(own))
            self._profile = Profile(wanted, self._steps.cut)
        self._left: list[object] = []

    def prepare(self) -> None:
        """Make the actions, each of which may refuse."""
        for task in self._plan.tasks:
            with self._guard:
                module, _, name = task.action.partition(":")
                action: type[Action] = getattr(importlib.import_module(module), name)
                self._actions[task.name] = action(task.parameters)

    def torch_arrived(self, torch: ModuleType) -> None:
        """Let the actions change torch, before the program uses it."""
        self._torch = torch
        if self._recording is not None and (self._recording.attached or torch.version.cuda is None):
            self._profile = None
        if self._profile is not None:
            self._profile.torch_arrived(torch)
        for action in self._actions.values():
            action.torch_arrived(torch)
        with self._guard:
            # torch calls it when it has started CUDA, at once if it has already.
            torch.cuda._lazy_call(self._cuda_came_up)  # noqa: SLF001  # there is no public one

    def _cuda_came_up(self) -> None:
        torch = self._torch
        if torch is None or self._cuda_is_up:
            return
        self._cuda_is_up = True
        with self._guard:
            self._steps.use_gpu(torch)
            if self._profile is not None:
                self._profile.cuda_came_up()
        for action in self._actions.values():
            action.cuda_came_up(torch)

    def gpu_package_arrived(self, _: ModuleType) -> None:
        """Begin to record: another package than torch is about to turn to the GPU."""
        if self._recording is None:
            return
        with self._guard:
            if self._torch is not None and self._profile is not None:
                self._profile.cuda_came_up()  # torch's profiler sees the work of all packages
            else:
                self._recording.attach()

    def step(self) -> None:
        """Take the end of a step."""
        with self._guard, self._lock:
            self._steps.mark()
            if self._profile is not None:
                self._profile.marked()
            if self._recording is not None:
                self._recording.step()
            if time.monotonic() - self._written >= _WRITE_EVERY_S:
                self._write(final=False)
                self._written = time.monotonic()

    def output(self, name: str, value: object) -> None:
        """Take an output."""
        with Guard() as guard, self._lock:
            self._outputs.keep(name, value)
        if guard.error:
            self._guard.note(f"the output {name} cannot be compared: {guard.error}")

    def stand_back(self) -> None:
        """Leave torch's profiler to the program, which has turned to it itself."""
        with self._guard, self._lock:
            if self._profile is not None:
                self._profile.stand_back()

    def finish(self) -> None:
        """Write the whole report: the process is about to end."""
        with self._guard, self._lock:
            if self._profile is not None:
                self._profile.end()
            if self._recording is not None:
                self._recording.finish()
        for action in () if self._forked else self._actions.values():
            action.ending()
        with self._guard:
            if not self._forked or self._has_something():
                with self._lock:
                    self._write(final=True)

    def forked(self) -> None:
        """Become the hook of a child that this process was copied into."""
        with self._guard:
            # Never let go of the parent's events: giving them back would call a dead CUDA.
            self._left.append(self._steps)
            self._lock = threading.RLock()
            self._steps, self._outputs, self._guard = Steps(), Outputs(), Guard()
            self._main, self._forked, self._profile = False, True, None
            self._cuda_is_up = False
            if self._recording is not None:
                self._recording.forked()
            for action in self._actions.values():
                action.forget()

    def _has_something(self) -> bool:
        return bool(self._steps.marks or len(self._outputs) or self._guard.error)

    def _write(self, *, final: bool) -> None:
        write_report(self._plan.report, self._document(final=final))

    def _document(self, *, final: bool) -> dict[str, object]:
        """Compose the report; a part that fails is left out, and the error says so."""
        document: dict[str, object] = {
            "pid": os.getpid(),
            "argv": list(getattr(sys, "argv", [])),
            "main": self._main,
            "torch": None if self._torch is None else str(self._torch.__version__),
            "used_gpu": self._cuda_is_up or (not self._forked and holds_gpu()),
            "streams": _named_streams(),
        }
        with self._guard:
            document["outputs"] = self._outputs.document(final=final)
            self._guard.note(self._outputs.guard.error)
        with self._guard:
            document["steps"] = self._steps.document(final=final)
        with self._guard:
            document["actions"] = {n: a.document() for n, a in self._actions.items()}
        if final:
            with self._guard:
                document["environment"] = settings(self._torch, cuda_is_up=self._cuda_is_up)
        document["profile"] = None if self._profile is None else self._profile.document()
        document["error"] = self._guard.error
        return document


def _named_streams() -> list[str]:
    """Return the names of the streams that the program asked for by name."""
    named = sys.modules.get("tailwave.cures.library.named")
    return sorted(named.given()) if named is not None else []
