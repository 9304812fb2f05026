"""Let a stream's waiting blocks go before those of others.

Blocks that run already are not stopped: beside long kernels of a tenant it does nothing (on an H200
4,804 us with priority, 4,588 without, 523 with SMs of its own), so no finding asks for it.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from types import ModuleType

from tailwave.cures.catalogue.base import (
    ActionReport,
    CureInProgram,
    Mechanism,
    Setting,
    needs_python,
    needs_stream,
)
from tailwave.cures.hook.action import Action

_HIGH = -1  # torch's number; plain streams have 0
# Packages that work in CUDA's own default stream. torch's other streams do not wait for that one,
# so that moving torch's work would take away an order that the program may count on.
_ON_DEFAULT_STREAM = ("cupy", "numba.cuda", "pycuda", "jax", "tensorflow", "warp")


class StreamPriority(Action):
    """Priority "high" for the stream ``stream``, or for all of the main thread's work ("")."""

    IDLE = "the program did not start CUDA through torch, or did not ask for the stream"

    def on_torch(self, torch: ModuleType) -> None:
        """Plan a named stream's priority, before the program can ask for it."""
        del torch
        self._name = str(self.parameters["stream"])
        if self._name:
            self._named = importlib.import_module("tailwave.cures.library.named")
            self._named.assign(self._name, priority=str(self.parameters["priority"]))

    def on_cuda(self, torch: ModuleType) -> None:
        """Make a high-priority stream the main thread's current one."""
        if self._name:
            return
        beside = [name for name in _ON_DEFAULT_STREAM if name in sys.modules]
        if beside:
            self.refuse(f"the program also uses {beside[0]}, whose work would lose its order")
        elif self.parameters["priority"] != "high":
            self.refuse("a whole program can only be given high priority")
        elif threading.current_thread() is not threading.main_thread():
            self.refuse("CUDA was started by another thread than the main one")
        else:
            self._stream = torch.cuda.Stream(device=_own_device(torch), priority=_HIGH)
            torch.cuda.set_stream(self._stream)
            self.applied = True

    def forget(self) -> None:
        """Leave the parent's streams to it: a forked child cannot use them."""
        super().forget()
        self._ready = False

    def seen(self) -> dict[str, object]:
        """Return the priority as CUDA has it (-1 and below is high)."""
        if self._name:
            given = self._named.given().get(self._name)
            if given is None:
                return {}
            if given.why_not:
                self.refuse(given.why_not)
            self.applied = given.priority < 0
            return {"priority": given.priority}
        if not self.applied:
            return {}
        late = [name for name in _ON_DEFAULT_STREAM if name in sys.modules]
        return {"priority": int(self._stream.priority), "beside": late}


def _own_device(torch: ModuleType) -> int:
    """Return the GPU of this rank: a launcher's ranks choose theirs after CUDA has started."""
    rank = os.environ.get("LOCAL_RANK", "")
    if rank.isdigit() and int(rank) < torch.cuda.device_count():
        return int(rank)
    return int(torch.cuda.current_device())


class StreamPriorityCure(CureInProgram):
    """Works where the stream that the work went to has the priority."""

    name = "stream-priority"
    label = "a stream that goes first"
    does = (
        "When an SM has room, the blocks of a stream of higher priority are placed first. Blocks "
        "that run already are not stopped."
    )
    needs = (
        "A PyTorch program; a stream with a name (tailwave.stream), or without a name the current "
        "one."
    )
    action = StreamPriority

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """Each named stream; else the one that the program works in."""
        return setting.streams or ("",)

    def options(self, parameter: str) -> dict[str, str | int]:
        """The stream's name, "" for the current one."""
        return {"stream": parameter, "priority": "high"}

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Only a stream that there is."""
        return needs_stream(parameter, setting) if parameter else needs_python(setting)

    def judged(self, _: str, report: ActionReport) -> Mechanism:
        """Look at the stream's priority."""
        priority = report.first("priority")
        if not isinstance(priority, int) or priority >= 0:
            return report.missing("no work went to a stream of high priority")
        sentence = f"The work went to a stream of priority {priority}."
        return Mechanism(works=True, sentence=sentence)

    def lines(self, _: str, /) -> tuple[str, ...]:
        """The library's own."""
        return (
            "import tailwave",
            'with tailwave.priority("high") as stream, stream.current(): ...',
        )
