"""Do warps run with all of their lanes?

What it means:
    Lanes of a warp take different ways, so that each way runs with part of the lanes. A warp issues
    one instruction for its 32 lanes. Where lanes branch apart, each branch is run in turn with the
    others masked; where a CTA's size is no multiple of 32, its last warp never has all lanes; one
    of 16 threads leaves half of its only warp idle, on whichever SM it runs.

How it is found:
    Active lanes per instruction (smsp__thread_inst_executed_per_inst_executed) of 32. The idle part
    of the lanes, times the part of the warps' latency in which they issued, were ready or waited
    for a fixed latency: with all lanes busy, so many fewer instructions would do the same work.
    Time spent waiting for memory or at barriers is not counted.

What cures it:
    sort-work: so that lanes of a warp take the same way. warp-per-item: a warp together on one item
    instead of a lane each. block-size: a multiple of 32. predication: short branches that the
    compiler turns into selects.

What fools it:
    Lanes that have nothing to do are no loss where the kernel waits for memory anyhow. Lanes masked
    by a predicate are not counted: such code has no other way to run.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import (
    LANES,
    LATENCY,
    STALLS,
    WORKING,
    Kernel,
    MissingCounterError,
)

CODE = "divergence"
TITLE = "Warps run with part of their lanes"
QUESTION = "do warps run with all of their lanes?"
_ACTIVE = "smsp__thread_inst_executed_per_inst_executed.ratio"
_PREDICATED = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
_RUNNING = (
    "selected",
    "not_selected",
    "wait",
    "branch_resolving",
    "math_pipe_throttle",
    "dispatch_stall",
)
METRICS: tuple[str, ...] = (
    _ACTIVE,
    _PREDICATED,
    *(STALLS.format(reason) for reason in _RUNNING),
    LATENCY,
    *WORKING,
)
NEEDED: tuple[str, ...] = ()
THEIRS: tuple[NcuRule, ...] = (NcuRule("ThreadDivergence", believed="diverging threads"),)
DIFFERS = "tailwave counts the time in which warps ran, ncu issue slots, masked lanes included"


def find(kernel: Kernel) -> Loss | None:
    """Take the time in which warps ran with idle lanes."""
    lanes = _lanes(kernel)
    idle = 1.0 - lanes / LANES
    if idle <= 0:
        return None
    running = kernel.stall(*_RUNNING) * kernel.working
    claim = (
        f"An instruction runs with {lanes:.3g} of {LANES} lanes on average, in the "
        f"{percent(running)} of the kernel in which warps ran."
    )
    evidence = [
        Evidence("active per instruction", lanes, "lanes"),
        ratio("of the kernel that warps ran", running),
        *_counted(kernel, "that no predicate masked", _PREDICATED, "lanes"),
        *_counted(kernel, "divergent, per SM sub-partition", *_BRANCHES),
    ]
    if (threads := _uneven(kernel)) is not None:
        evidence.append(Evidence("in a CTA, no multiple of 32", threads, "threads"))
    return Loss(idle * running, claim, tuple(evidence))


def cures(kernel: Kernel) -> tuple[str, ...]:
    """Return what cures it."""
    by_size = () if _uneven(kernel) is None else ("block-size",)
    return (*by_size, "sort-work", "warp-per-item")


def most(kernel: Kernel) -> float:
    """No more than the idle part of the lanes, for as long as SMs worked."""
    return (1.0 - _lanes(kernel) / LANES) * kernel.working


def _lanes(kernel: Kernel) -> float:
    """Return the active lanes of an instruction; without any it would not run."""
    lanes = kernel.need(_ACTIVE)
    if lanes <= 0:
        raise MissingCounterError((_ACTIVE,))
    return lanes


def _uneven(kernel: Kernel) -> float | None:
    """Return the threads of a CTA whose last warp is not full; None if all its warps are."""
    threads = kernel.threads
    return threads if threads is not None and threads % LANES else None


_BRANCHES = ("smsp__sass_branch_targets_threads_divergent.avg", "branches")


def _counted(kernel: Kernel, what: str, name: str, unit: str) -> tuple[Evidence, ...]:
    value = kernel.get(name)
    return () if value is None else (Evidence(what, value, unit),)
