"""Is the work spread evenly over the SMs?

What it means:
    Some SMs work long after the others have run out of CTAs. A kernel ends with its slowest SM.
    Where a few CTAs have far more work than the rest, their SMs run on while the others idle,
    however well the grid's size fits the chip.

How it is found:
    Cycles in which SMs had work (sm__cycles_active): the busiest SM against the mean, over the
    elapsed cycles. What the grid's size explains (CTAs that do not divide by the SMs, fewer CTAs
    than SMs) is taken off, and is another finding.

What cures it:
    balance-ctas: give each CTA the same work. largest-first: start the long CTAs first. work-queue:
    persistent CTAs that take small items from a counter until none is left.

What fools it:
    Mean and maximum over SMs hide which CTA was long. SMs that another kernel held, or that run at
    different distance from the data, differ by a few percent in any kernel. Differences of less
    than one access to memory (300 cycles) are not told: they are all of a kernel of a microsecond.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, ratio
from tailwave.profiles.rules.kernel import ACTIVE_MEAN, ACTIVE_MOST, ELAPSED, GRID, SMS, Kernel

CODE = "sm-imbalance"
# What one access to the L2 takes on an H200 (261 to 346 cycles by SM and line): SMs that differ by
# less differ by where they are and by what was in their caches, not by their work.
ONE_ACCESS = 300
TITLE = "A few SMs work while the others have run out"
QUESTION = "is the work spread evenly over the SMs?"
METRICS: tuple[str, ...] = (ACTIVE_MEAN, ACTIVE_MOST, ELAPSED[0], GRID, SMS)
NEEDED: tuple[str, ...] = ()
THEIRS: tuple[NcuRule, ...] = (NcuRule("WorkloadImbalance", "SMs"),)
DIFFERS = (
    "ncu does not take off what the grid's size explains, and scales its estimate by how long the "
    "average SM worked"
)


def find(kernel: Kernel) -> Loss | None:
    """Compare the busiest SM with the mean, less what the grid's size explains."""
    uneven, rounding = kernel.unevenness, kernel.rounding
    share = uneven - rounding
    mean, most = kernel.need(ACTIVE_MEAN), kernel.need(ACTIVE_MOST)
    if share <= 0 or most - mean <= ONE_ACCESS:
        return None
    claim = (
        f"The busiest SM works {most / max(mean, 1.0):.3g} times as long as the average one, and "
        f"the grid's size does not explain it: SMs stand idle for {percent(share)} of the kernel."
    )
    evidence = (
        Evidence("busiest SM", most, "cycles"),
        Evidence("average SM", mean, "cycles"),
        ratio("of it explained by the grid's size", min(rounding, uneven)),
    )
    return Loss(share, claim, evidence)


def most(kernel: Kernel) -> float:
    """No more than the average SM stood idle, for whatever reason."""
    return 1.0 - kernel.working


def cures(_: Kernel) -> tuple[str, ...]:
    """Equal work for CTAs, however it is shared out."""
    return ("balance-ctas", "work-queue")
