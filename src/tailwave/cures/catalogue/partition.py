"""Give a named stream SMs of its own.

Beside a tenant of large GEMMs a small stream was 14 times faster on an H200, and the tenant paid
40%.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from tailwave.cures.catalogue.base import (
    ActionReport,
    CureInProgram,
    Mechanism,
    Setting,
    needs_stream,
    whole,
)
from tailwave.cures.hook.action import Action
from tailwave.errors import UsageError


class Partition(Action):
    """Plans ``sms`` SMs for the stream ``stream``; at the end a kernel proves which it has."""

    IDLE = "the program did not ask for a stream of that name: use tailwave.stream(name)"

    def on_torch(self, torch: ModuleType) -> None:
        """Plan it, before the program can ask for the stream."""
        del torch
        self._name = str(self.parameters["stream"])
        self._named = importlib.import_module("tailwave.cures.library.named")
        self._named.assign(self._name, sms=int(str(self.parameters["sms"])))

    def forget(self) -> None:
        """Leave the parent's streams to it: a forked child cannot use them."""
        super().forget()
        self._ready = False

    def seen(self) -> dict[str, object]:
        """Return what the stream was given, and on how many SMs its proof ran."""
        given = self._named.given().get(self._name)
        if given is None:
            return {}
        if given.why_not:
            self.refuse(given.why_not)
        self.applied = given.own and not given.why_not
        return {"sms": given.sms, "own": given.own, **self.counts}

    def prove(self) -> None:
        """Record the ids of the SMs that the stream's work runs on."""
        if self._name in self._named.given():
            self.counts["proven"] = len(self._named.prove(self._name))


_STEP = 8  # the least and the step on compute capability 9.0 and later; older chips take it too
_MOST = 1024
_SHARE = 4  # a quarter of the chip: what a small stream beside a large one was measured with


class PartitionCure(CureInProgram):
    """Works where a kernel in the stream wrote down the SMs that it ran on, and no others."""

    name = "partition"
    label = "SMs of its own for a stream"
    does = (
        "The chip's SMs are split once (green contexts); the stream's kernels run on its part, "
        "those of all other streams on the rest. L2, memory and copy engines stay shared."
    )
    needs = (
        "A driver of CUDA 12.4 or later, a PyTorch program that names its stream "
        "(tailwave.stream). Counts are rounded up to the chip's step: 8 SMs on Hopper."
    )
    advice = (
        "Give the delayed stream SMs of its own: with tailwave.partition, or by a name "
        "(tailwave.stream) so that partition can be tried. Only MIG divides L2 and memory too; "
        "it needs root and an idle GPU: `nvidia-smi -mig 1`."
    )
    answers = ("partition",)
    example = "decoder=32"
    action = Partition

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """A quarter of the chip for each named stream."""
        device = setting.diagnosis.device if setting.diagnosis is not None else None
        quarter = (device.sm_count if device is not None else 0) // _SHARE // _STEP * _STEP
        return tuple(f"{stream}={max(quarter, _STEP)}" for stream in setting.streams)

    def options(self, parameter: str) -> dict[str, str | int]:
        """The stream's name and the number of SMs; the last equals sign divides them."""
        stream, equals, sms = parameter.rpartition("=")
        if not equals or not stream:
            raise UsageError(
                f"{self.name} takes STREAM=SMS: write for example partition:decoder=32."
            )
        return {"stream": stream, "sms": whole(f"{self.name}:{stream}=", sms, 1, _MOST)}

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Only for a stream that there is; without a parameter, in a program that names none."""
        stream = str(self.options(parameter)["stream"]) if parameter else "NAME"
        return needs_stream(stream, setting)

    def judged(self, parameter: str, report: ActionReport) -> Mechanism:
        """Look at the SMs that were recorded."""
        stream, own, proven = (
            self.options(parameter)["stream"],
            report.total("sms"),
            report.total("proven"),
        )
        if proven > own:
            sentence = f"The stream {stream} was given {own} SMs and was seen on {proven}."
            return Mechanism(works=False, sentence=sentence)
        if not proven:
            return report.missing("no work was seen on SMs of its own")
        sentence = f"The stream {stream} was seen on {proven} of {own} SMs of its own."
        return Mechanism(works=True, sentence=sentence)

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The library's own."""
        sms = self.options(parameter)["sms"]
        return (
            "import tailwave",
            f"with tailwave.partition(sms={sms}) as group, group.current(): ...",
        )
