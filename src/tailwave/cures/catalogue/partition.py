"""Give a named stream SMs of its own.

What it does:
    The chip's SMs are split once (green contexts); the stream's kernels run on its part, those of
    all other streams on the rest. L2, memory and copy engines stay shared. Beside a tenant of
    large GEMMs it was 14 times faster on an H200, and the tenant paid 40%.

What it needs:
    A driver of CUDA 12.4 or later, a PyTorch program that names its stream (tailwave.stream).
    Counts are rounded up to the chip's step: 8 SMs on Hopper.

How its mechanism is seen:
    A kernel in the stream wrote down the SMs that it ran on.

How it is undone:
    The partition ends with the process.

Lines to keep it:
    import tailwave
    with tailwave.partition(sms=32) as group, group.current(): ...
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import (
    Action,
    Change,
    Report,
    Seen,
    Setting,
    acted,
    needs_stream,
    not_seen,
    whole,
)
from tailwave.errors import UsageError

NAME = "partition"
LABEL = "SMs of its own for a stream"
ANSWERS: tuple[str, ...] = ("partition",)
EVIDENCE: tuple[str, ...] = ()

_STEP = 8  # the least and the step on compute capability 9.0 and later; older chips take it too
_MOST = 1024
_SHARE = 4  # a quarter of the chip: what a small stream beside a large one was measured with


def parameters(setting: Setting) -> tuple[str, ...]:
    """A quarter of the chip for each named stream."""
    device = setting.diagnosis.device if setting.diagnosis is not None else None
    quarter = (device.sm_count if device is not None else 0) // _SHARE // _STEP * _STEP
    return tuple(f"{stream}={max(quarter, _STEP)}" for stream in setting.streams)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    stream, sms = _parts(parameter)
    return Change(actions=(Action(NAME, {"stream": stream, "sms": sms}),))


def why_not(parameter: str, setting: Setting) -> str:
    """Only for a stream that there is; without a parameter, in a program that names none."""
    stream = _parts(parameter)[0] if parameter else "NAME"
    return needs_stream(stream, setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Look at the SMs that were recorded."""
    found = acted(NAME, reports)
    stream, _ = _parts(parameter)
    given, proven = found.total("sms"), found.total("proven")
    if proven > given:
        sentence = f"The stream {stream} was given {given} SMs and was seen on {proven}."
        return Seen(works=False, sentence=sentence)
    if proven > 0:
        sentence = f"The stream {stream} was seen on {proven} of {given} SMs of its own."
        return Seen(works=True, sentence=sentence)
    return not_seen(found, "no work was seen on SMs of its own")


def lines(parameter: str) -> tuple[str, ...]:
    """The library's own."""
    _, sms = _parts(parameter)
    return ("import tailwave", f"with tailwave.partition(sms={sms}) as group, group.current(): ...")


def _parts(parameter: str) -> tuple[str, int]:
    """Return the stream's name and the number of SMs."""
    stream, equals, sms = parameter.rpartition("=")
    if not equals or not stream:
        raise UsageError(f"{NAME} takes STREAM=SMS: write for example {NAME}:decoder=32.")
    return stream, whole(f"{NAME}:{stream}=", sms, 1, _MOST)
