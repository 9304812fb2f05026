"""Copy from pinned memory, without holding the host.

What it does:
    A copy from ordinary memory goes through the driver's own pinned buffer at a fraction of the
    link's speed and holds the host until it is done. Batches in pinned memory are copied at the
    link's speed while the host goes on.

What it needs:
    A PyTorch program that gets its batches from a DataLoader or copies tensors from the CPU;
    memory that can be pinned.

How its mechanism is seen:
    Copies were made from pinned memory, without waiting.

How it is undone:
    The pinned memory ends with the process.

Lines to keep it:
    DataLoader(..., pin_memory=True)
    batch = batch.to("cuda", non_blocking=True)
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
    nothing_after,
)

NAME = "async-copy"
LABEL = "copies from pinned memory"
ANSWERS: tuple[str, ...] = ("async-copy",)
EVIDENCE: tuple[str, ...] = ()


def parameters(_: Setting) -> tuple[str, ...]:
    """It has none."""
    return ("",)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    nothing_after(NAME, parameter)
    return Change(actions=(Action(NAME),))


def why_not(_: str, setting: Setting) -> str:
    """Only inside Python."""
    return needs_python(setting)


def seen(_: str, reports: Iterable[Report]) -> Seen:
    """Count the copies."""
    found = acted(NAME, reports)
    copies = found.total("copies")
    if copies > 0:
        many = "copy was" if copies == 1 else "copies were"
        return Seen(works=True, sentence=f"{copies:,} {many} made from pinned memory.")
    return not_seen(found, "no copy was made from pinned memory")


def lines(_: str) -> tuple[str, ...]:
    """PyTorch's own."""
    return (
        "DataLoader(..., pin_memory=True)",
        'batch = batch.to("cuda", non_blocking=True)',
    )
