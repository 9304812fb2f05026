"""Let a stream's waiting blocks go before those of others.

What it does:
    When an SM has room, the blocks of a stream of higher priority are placed first. Blocks that
    run already are not stopped: beside long kernels of a tenant it does nothing (on an H200 4,804
    us with priority, 4,588 without, 523 with SMs of its own).

What it needs:
    A PyTorch program; a stream with a name (tailwave.stream), or without a name the current one.

How its mechanism is seen:
    The stream that the work went to has the priority.

How it is undone:
    The stream ends with the process.

Lines to keep it:
    import tailwave
    with tailwave.priority("high") as stream, stream.current(): ...
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
    needs_stream,
    not_seen,
)

NAME = "stream-priority"
LABEL = "a stream that goes first"
ANSWERS: tuple[str, ...] = ()  # it stops no block that runs, and those are what is waited for
EVIDENCE: tuple[str, ...] = ()


def parameters(setting: Setting) -> tuple[str, ...]:
    """Each named stream; else the one that the program works in."""
    return setting.streams or ("",)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    return Change(actions=(Action(NAME, {"stream": parameter, "priority": "high"}),))


def why_not(parameter: str, setting: Setting) -> str:
    """Only a stream that there is."""
    return needs_stream(parameter, setting) if parameter else needs_python(setting)


def seen(_: str, reports: Iterable[Report]) -> Seen:
    """Look at the stream's priority."""
    found = acted(NAME, reports)
    priority = found.first("priority")
    if isinstance(priority, int) and priority < 0:
        return Seen(works=True, sentence=f"The work went to a stream of priority {priority}.")
    return not_seen(found, "no work went to a stream of high priority")


def lines(_: str) -> tuple[str, ...]:
    """The library's own."""
    return ("import tailwave", 'with tailwave.priority("high") as stream, stream.current(): ...')
