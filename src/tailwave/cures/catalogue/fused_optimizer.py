"""Let the optimizer update all parameters with a few kernels.

What it does:
    A PyTorch optimizer launches several kernels for each parameter, or for each group of them;
    with fused=True one kernel does many parameters' whole update.

What it needs:
    A PyTorch program with an optimizer that can (Adam, AdamW, SGD, Adagrad) and parameters of
    floating point on the GPU. The results may differ in the last digits.

How its mechanism is seen:
    Optimizers were made with fused=True, and those that still live at the end are fused.

How it is undone:
    The optimizers end with the process.

Lines to keep it:
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
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

NAME = "fused-optimizer"
LABEL = "a fused optimizer"
ANSWERS: tuple[str, ...] = ("fused-optimizer",)
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
    """Count the optimizers."""
    found = acted(NAME, reports)
    made = found.total("optimizers")
    if found.total("alive") > 0 and found.total("fused") == 0:
        return Seen(works=False, sentence="The program unset fused again, as a checkpoint does.")
    if made > 0:
        many = "optimizer was" if made == 1 else "optimizers were"
        return Seen(works=True, sentence=f"{made} {many} made with fused=True.")
    return not_seen(found, "no optimizer was fused")


def lines(_: str) -> tuple[str, ...]:
    """PyTorch's own; the optimizer is the program's."""
    return ("optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # or the one you use",)
