"""Give the program's streams more queues to the GPU.

What it does:
    Streams share hardware queues, 8 by default. Two streams in one queue wait for each other
    though nothing in the program says so. CUDA_DEVICE_MAX_CONNECTIONS makes it up to 32.

What it needs:
    A program with more streams than queues, started anew. Frameworks that order communication
    before compute by a single queue (Megatron-LM, Transformer Engine) set it to 1 on purpose.

How its mechanism is seen:
    The driver does not report it: only the effect speaks.

How it is undone:
    A run without the variable.

Lines to keep it:
    export CUDA_DEVICE_MAX_CONNECTIONS=32
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import Change, Report, Seen, Setting, already, exports, whole

NAME = "max-connections"
LABEL = "hardware queues"
ANSWERS: tuple[str, ...] = (
    "partition",
)  # a kernel whose stream is free and that waits may be in another's queue
EVIDENCE: tuple[str, ...] = ()

_VARIABLE = "CUDA_DEVICE_MAX_CONNECTIONS"
_MOST = 32  # CUDA C++ Programming Guide, "CUDA Environment Variables"


def parameters(_: Setting) -> tuple[str, ...]:
    """As many as there can be."""
    return (str(_MOST),)


def change(parameter: str, _: Setting) -> Change:
    """Set the variable."""
    return Change(environment={_VARIABLE: str(whole(NAME, parameter, 1, _MOST))})


def why_not(parameter: str, setting: Setting) -> str:
    """Not where it is set so, nor against a program that orders its work by one queue."""
    if setting.environment.get(_VARIABLE) == "1" and parameter != "1":
        return (
            f"{_VARIABLE}=1 is set, by which some frameworks keep communication before compute: "
            "unset it yourself if the program does not need that order."
        )
    return already({_VARIABLE: parameter}, setting)


def seen(parameter: str, _: Iterable[Report]) -> Seen:
    """Say that nobody reports it."""
    return Seen(None, f"{_VARIABLE}={parameter} was set; the driver does not report it.")


def lines(parameter: str) -> tuple[str, ...]:
    """The variable."""
    return exports({_VARIABLE: parameter})
