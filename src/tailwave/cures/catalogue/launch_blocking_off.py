"""Let the host run ahead of the GPU again.

What it does:
    CUDA_LAUNCH_BLOCKING=1 makes the host wait for each kernel. It is a debugger's setting, and
    left on it costs a program most of its speed. The cure unsets it.

What it needs:
    The variable is set where the program is started.

How its mechanism is seen:
    The driver does not report it: the variable is gone, and the effect speaks.

How it is undone:
    A run with the variable.

Lines to keep it:
    unset CUDA_LAUNCH_BLOCKING
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import ANYTHING, Change, Report, Seen, Setting, nothing_after

NAME = "launch-blocking-off"
LABEL = "the host need not wait for each kernel"
ANSWERS: tuple[str, ...] = (ANYTHING,)
EVIDENCE: tuple[str, ...] = ()

_VARIABLE = "CUDA_LAUNCH_BLOCKING"


def parameters(setting: Setting) -> tuple[str, ...]:
    """Nothing to try where the variable is not set."""
    return () if why_not("", setting) else ("",)


def change(parameter: str, _: Setting) -> Change:
    """Unset the variable."""
    nothing_after(NAME, parameter)
    return Change(environment={_VARIABLE: None})


def why_not(_: str, setting: Setting) -> str:
    """Only where the variable is set."""
    if setting.environment.get(_VARIABLE, "") in ("", "0"):
        return f"{_VARIABLE} is not set, so there is nothing to unset."
    return ""


def seen(_: str, __: Iterable[Report]) -> Seen:
    """Say that nobody reports it."""
    return Seen(None, f"{_VARIABLE} was unset; the driver does not report it.")


def lines(_: str) -> tuple[str, ...]:
    """The variable, unset."""
    return (f"unset {_VARIABLE}",)
