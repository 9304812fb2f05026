"""Does the kernel wait for the latency of memory?

What it means:
    Warps wait for loads, and too little other work hides the wait. A load that misses the L1 takes
    200 to 1000 cycles. A GPU hides that by issuing other warps, or other loads of the same warp.
    Chains of dependent loads (linked lists, trees, indices that are loaded first) leave nothing to
    issue.

How it is found:
    Schedulers' cycles without an issue (1 - smsp__issue_active), times the part of the warps'
    stalled latency that is stall_long_scoreboard, times the part of the kernel in which SMs had
    work. At most what is left until the busiest unit runs at 80% of its peak: a kernel that streams
    at full bandwidth waits too, and is not slow for it. Of the L2's traffic, only the sectors count
    that coalesced accesses would need as well.

What cures it:
    more-in-flight: load several elements before the first is used (unroll, cp.async, prefetch).
    break-chains: independent chains side by side in one thread. locality: order the work, or pack
    the data, so that what is loaded is near and in cache.

What fools it:
    Atomics and polling a flag wait with the same stall. Where atomics were not counted and warps
    wait even longer for the queue of global memory, nothing is said: enough is in flight then, and
    contended atomics look like that. A cure by more loads in flight raises the traffic; where
    scattered sectors already fill the L2, they must become fewer first.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.profiles.rules.base import Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import (
    ATOMICS_MOST,
    ATTAINABLE,
    DRAM_BUSY,
    L2_BUSY,
    SM_BUSY,
    STALLED,
    STALLS,
    WORKING,
    Kernel,
    MissingCounterError,
)
from tailwave.profiles.rules.sectors import used_part

CODE = "memory-latency"
TITLE = "Warps wait for memory, and too little hides it"
QUESTION = "does the kernel wait for the latency of memory?"
METRICS: tuple[str, ...] = (
    STALLS.format("long_scoreboard"),
    *STALLED,
    SM_BUSY,
    DRAM_BUSY[0],
    L2_BUSY,
    ATOMICS_MOST,
    *WORKING,
)
NEEDED: tuple[str, ...] = (L2_BUSY, DRAM_BUSY[0])
THEIRS: tuple[NcuRule, ...] = (NcuRule("CPIStall", "Long Scoreboard"),)
DIFFERS = (
    "ncu counts until the busiest unit is full; tailwave leaves scattered sectors out of that, and "
    "takes a slice of the L2 that is full of atomics for full"
)


def find(kernel: Kernel) -> Loss | None:
    """Take the idle cycles that waiting for memory accounts for."""
    stalled = kernel.stall("long_scoreboard")
    if stalled <= 0:
        return None
    atomics = kernel.get(ATOMICS_MOST)
    if atomics is None and kernel.stall_or_none("lg_throttle") >= stalled:
        raise MissingCounterError((ATOMICS_MOST,))
    dram, l2 = kernel.fraction(*DRAM_BUSY), kernel.fraction(L2_BUSY)
    room = kernel.room(kernel.fraction(SM_BUSY), dram, l2 * used_part(kernel))
    share = min(kernel.waited("long_scoreboard"), room)
    claim = (
        f"Warps spend {percent(stalled)} of their time waiting for loads, and schedulers issue in "
        f"only {percent(kernel.issuing)} of their cycles."
    )
    if l2 >= ATTAINABLE and used_part(kernel) < 1:
        claim += (
            f" The L2 is {percent(l2)} busy with scattered sectors, so the loads must become fewer "
            "or nearer, not only earlier."
        )
    if atomics is None:
        claim += " Atomics, which were not counted, wait in the same way."
    evidence = (
        ratio("of a warp's latency waiting for memory", stalled),
        ratio("of scheduler cycles with an issue", kernel.issuing),
        ratio("of DRAM's peak", dram),
        ratio("of the L2's peak", l2),
    )
    return Loss(share, claim, evidence)


def most(kernel: Kernel) -> float:
    """No more than schedulers idled for reasons that are not known to be others."""
    return kernel.waited_at_most("long_scoreboard")


def cures(_: Kernel) -> tuple[str, ...]:
    """More loads at once, or nearer data."""
    return ("more-in-flight", "break-chains", "locality")
