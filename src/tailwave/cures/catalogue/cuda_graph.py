"""Record the step once as a CUDA graph and replay it with one launch.

What it does:
    The host issues a whole step with one call; the kernels then follow each other on the GPU.

What it needs:
    A PyTorch program whose step has fixed shapes, no wait for the GPU and no memory from outside
    the pool; where the hook cannot be sure of that it leaves the step as it is. A GPU that idles:
    one that is busy for more than 90% of the step has nothing to gain. Not under HAMi, whose quota
    does not count the launches in a graph.

How its mechanism is seen:
    Graphs were replayed, and how often.

How it is undone:
    The graphs end with the process.

Lines to keep it:
    import tailwave
    step = tailwave.graph(step, *example_args)
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
    busy_share,
    needs_python,
    not_seen,
    nothing_after,
)
from tailwave.figures import percent

NAME = "cuda-graph"
LABEL = "the step as a CUDA graph"
ANSWERS: tuple[str, ...] = ("cuda-graph",)
EVIDENCE: tuple[str, ...] = ()

# A graph fills gaps and makes no kernel faster: above this at most a tenth of the step can be won,
# and the launches that it saves are overlapped with kernels anyway.
_BUSY = 0.90


def parameters(_: Setting) -> tuple[str, ...]:
    """It has none."""
    return ("",)


def change(parameter: str, _: Setting) -> Change:
    """Ask the hook."""
    nothing_after(NAME, parameter)
    return Change(actions=(Action(NAME),))


def why_not(_: str, setting: Setting) -> str:
    """Not under HAMi, nor where the GPU hardly idles."""
    if setting.hami:
        return (
            "HAMi's quota does not count the launches in a CUDA graph, so a graph would take more "
            "than this container's share: try it where the program has a GPU of its own."
        )
    busy = busy_share(setting.diagnosis)
    if busy is not None and busy > _BUSY:
        return f"The GPU is busy for {percent(busy)} of the step: there are no gaps for it to fill."
    return needs_python(setting)


def seen(_: str, reports: Iterable[Report]) -> Seen:
    """Count the replays."""
    found = acted(NAME, reports)
    replays, graphs = found.total("replays"), found.total("graphs")
    if replays > 0:
        many = "graph was" if graphs == 1 else "graphs were"
        return Seen(works=True, sentence=f"{graphs} CUDA {many} replayed {replays:,} times.")
    return not_seen(found, "no graph was replayed")


def lines(_: str) -> tuple[str, ...]:
    """The library's own."""
    return ("import tailwave", "step = tailwave.graph(step, *example_args)")
