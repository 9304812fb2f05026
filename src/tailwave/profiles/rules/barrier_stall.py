"""Do warps wait at barriers?

What it means:
    Warps wait for slower ones of their CTA. At __syncthreads every warp of a CTA waits for the last
    one. Where warps have unequal work, or one of them does a serial part, the others' time is lost,
    and with it what their schedulers could have issued.

How it is found:
    Schedulers' cycles without an issue (1 - smsp__issue_active), times the part of the warps'
    stalled latency that is stall_barrier, times the part of the kernel in which SMs had work. At
    most what is left until the busiest unit runs at 80% of its peak.

What cures it:
    balance-warps: give each warp of the CTA the same work. smaller-ctas: more CTAs an SM, so that
    others run while one waits. finer-barriers: __syncwarp, named barriers, or mbarriers between
    those warps alone that need each other.

What fools it:
    Warps that wait for one which waits for memory wait at the barrier as well: the cause is then
    that memory. Loops with many short phases have many barriers that are balanced and still cost.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.profiles.rules.base import Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import MEMORY_BUSY, SM_BUSY, STALLED, STALLS, WORKING, Kernel

CODE = "barrier-stall"
TITLE = "Warps wait for each other at barriers"
QUESTION = "do warps wait at barriers?"
METRICS: tuple[str, ...] = (
    STALLS.format("barrier"),
    *STALLED,
    SM_BUSY,
    MEMORY_BUSY,
    *WORKING,
)
NEEDED: tuple[str, ...] = (MEMORY_BUSY,)
THEIRS: tuple[NcuRule, ...] = (NcuRule("CPIStall", "Barrier"),)
DIFFERS = "tailwave divides idle cycles among all stalls, ncu gives them all to the larger one"


def find(kernel: Kernel) -> Loss | None:
    """Take the idle cycles that barriers account for."""
    stalled = kernel.stall("barrier")
    if stalled <= 0:
        return None
    room = kernel.room(kernel.fraction(SM_BUSY), kernel.fraction(MEMORY_BUSY))
    share = min(kernel.waited("barrier"), room)
    claim = (
        f"Warps spend {percent(stalled)} of their time at barriers, waiting for slower warps of "
        f"their CTA, and schedulers issue in only {percent(kernel.issuing)} of their cycles."
    )
    evidence = (
        ratio("of a warp's latency at barriers", stalled),
        ratio("of scheduler cycles with an issue", kernel.issuing),
    )
    return Loss(share, claim, evidence)


def most(kernel: Kernel) -> float:
    """No more than schedulers idled for reasons that are not known to be others."""
    return kernel.waited_at_most("barrier")


def cures(_: Kernel) -> tuple[str, ...]:
    """Equal work for warps, or others to run meanwhile."""
    return ("balance-warps", "smaller-ctas")
