"""Let matrix products leave some SMs alone.

What it does:
    PyTorch tells cuBLASLt to plan its products for fewer SMs, so that they fit beside a kernel
    that holds the others, instead of waiting for them in a wave of their own.

What it needs:
    A PyTorch program on Hopper; the call is private and experimental
    (torch._C._set_sm_carveout_experimental), and only some products listen. On an H200 it gained
    nothing in any of 15 cases: it can be named, and is never chosen.

How its mechanism is seen:
    PyTorch gives back the number that was set.

How it is undone:
    The setting ends with the process.

Lines to keep it:
    torch._C._set_sm_carveout_experimental(16)
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
    needs_python,
    not_seen,
    whole,
)

NAME = "sm-carveout"
LABEL = "SMs that matrix products leave alone"
ANSWERS: tuple[str, ...] = ()
EVIDENCE: tuple[str, ...] = ()

_MOST = 1024


def parameters(_: Setting) -> tuple[str, ...]:
    """None: only the user knows how many SMs something else holds."""
    return ()


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    return Change(actions=(Action(NAME, {"sms": whole(NAME, parameter, 1, _MOST)}),))


def why_not(_: str, setting: Setting) -> str:
    """Only inside Python."""
    return needs_python(setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Look at what PyTorch gives back."""
    found = acted(NAME, reports)
    if found.first("sms") == int(parameter):
        return Seen(works=True, sentence=f"PyTorch plans its products without {parameter} SMs.")
    return not_seen(found, "PyTorch did not take the number")


def lines(parameter: str) -> tuple[str, ...]:
    """PyTorch's own, private as it is."""
    return (f"torch._C._set_sm_carveout_experimental({parameter})",)
