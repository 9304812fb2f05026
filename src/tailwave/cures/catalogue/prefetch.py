"""Prepare batches in worker processes, ahead of use.

What it does:
    A DataLoader without workers reads and decodes each batch in the thread that issues the GPU's
    work. With workers the next batches are ready when they are asked for.

What it needs:
    A PyTorch program with a DataLoader whose data set can be sent to another process; cores for
    the workers. Random augmentation draws other numbers than before.

How its mechanism is seen:
    Loaders were iterated with that many workers.

How it is undone:
    The workers end with the loader.

Lines to keep it:
    DataLoader(..., num_workers=8, persistent_workers=True)
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

NAME = "prefetch"
LABEL = "workers of the DataLoader"
ANSWERS: tuple[str, ...] = ("prefetch",)
EVIDENCE: tuple[str, ...] = ("DataLoader",)

_USUAL_MOST = 8  # more seldom help one GPU, and each takes the memory of a process
_MOST = 1024


def parameters(setting: Setting) -> tuple[str, ...]:
    """A GPU's share of the cores, less the one that issues."""
    own = setting.cpus // max(setting.gpus, 1) - 1
    return (str(min(max(own, 1), _USUAL_MOST)),)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    return Change(actions=(Action(NAME, {"workers": whole(NAME, parameter, 1, _MOST)}),))


def why_not(_: str, setting: Setting) -> str:
    """Only inside Python."""
    return needs_python(setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Count the loaders."""
    found = acted(NAME, reports)
    loaders = found.total("loaders")
    if loaders > 0:
        many = "loader" if loaders == 1 else "loaders"
        return Seen(works=True, sentence=f"{loaders} {many} ran with {parameter} workers.")
    return not_seen(found, "no loader was iterated")


def lines(parameter: str) -> tuple[str, ...]:
    """PyTorch's own."""
    return (f"DataLoader(..., num_workers={parameter}, persistent_workers=True)",)
