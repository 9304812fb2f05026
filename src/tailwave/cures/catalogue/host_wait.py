"""Choose how the host waits for the GPU: spinning, yielding its core, or asleep.

What it does:
    A thread that waits for the GPU asks over and over (spin), asks and lets others run (yield),
    or sleeps until the GPU interrupts it (block). Spinning sees the end soonest and takes a core;
    sleeping leaves the core to others and wakes tens of microseconds later.

What it needs:
    To be set before CUDA comes up, so the program is started anew. By default CUDA spins where
    there are cores enough: spin changes nothing there.

How its mechanism is seen:
    The flags of the primary context are read back.

How it is undone:
    The flags end with the process.

Lines to keep it:
    import tailwave
    with tailwave.host_wait("block"): ...
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
    one_of,
)

NAME = "host-wait"
LABEL = "how the host waits"
ANSWERS: tuple[str, ...] = ()  # a wait that is sooner seen is still a wait
EVIDENCE: tuple[str, ...] = ()

_POLICIES = ("block", "yield", "spin")


def parameters(_: Setting) -> tuple[str, ...]:
    """Sleeping first: it differs most from what there is."""
    return _POLICIES


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    one_of(NAME, parameter, _POLICIES)
    return Change(actions=(Action(NAME, {"policy": parameter}),))


def why_not(_: str, setting: Setting) -> str:
    """Only inside Python."""
    return needs_python(setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Look at the flags that were read back."""
    found = acted(NAME, reports)
    policy = found.first("policy")
    if policy == parameter:
        return Seen(
            works=True, sentence=f"The context's flags say that the host waits by {policy}."
        )
    return not_seen(found, f"the context's flags do not say {parameter}")


def lines(parameter: str) -> tuple[str, ...]:
    """The library's own."""
    return ("import tailwave", f'with tailwave.host_wait("{parameter}"): ...')
