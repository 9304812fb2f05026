"""Has every SM a CTA?

`tailwave explain small-grid` prints what a recording's rule says. From counters it is the SMs that
have no CTA, for as long as the others worked.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, count
from tailwave.profiles.rules.kernel import (
    ACTIVE_MEAN,
    ACTIVE_MOST,
    ELAPSED,
    GRID,
    SMS,
    Kernel,
    MissingCounterError,
)

CODE = "small-grid"
TITLE = "A grid too small for the chip leaves SMs idle"
QUESTION = "has every SM a CTA?"
METRICS: tuple[str, ...] = (GRID, SMS, ACTIVE_MOST, ELAPSED[0])
NEEDED: tuple[str, ...] = ()
THEIRS: tuple[NcuRule, ...] = (NcuRule("LaunchConfiguration", "Small Grid"),)
DIFFERS = "tailwave counts only the time in which the other SMs worked"


def find(kernel: Kernel) -> Loss | None:
    """Take the SMs without a CTA, for as long as the busiest SM worked."""
    ctas, sms = kernel.ctas, kernel.sms
    if ctas >= sms:
        return None
    worked = min(_worked(kernel, ctas / sms) / kernel.elapsed, 1.0)
    share = (1.0 - ctas / sms) * worked
    runs, have = "runs" if ctas == 1 else "run", "has" if sms - ctas == 1 else "have"
    claim = (
        f"{count(ctas, 'CTA')} {runs} on {sms:.0f} SMs, so {count(sms - ctas, 'SM')} {have} "
        f"nothing to do: at best {percent(share)} of the kernel, spread over all of them."
    )
    evidence = (
        Evidence("in the grid", ctas, "CTAs"),
        Evidence("to run them", sms, "SMs"),
        Evidence("without a CTA", sms - ctas, "SMs"),
    )
    return Loss(share, claim, evidence)


def most(_: Kernel) -> float:
    """Nothing else bounds it."""
    return 1.0


def cures(_: Kernel) -> tuple[str, ...]:
    """More CTAs in a launch."""
    return ("split-work", "merge-small-grids")


def _worked(kernel: Kernel, part: float) -> float:
    """Return the cycles that the busiest SM worked, of which ``part`` have a CTA.

    Without that counter, at least as long as the mean of those which have one.
    """
    busiest = kernel.get(ACTIVE_MOST)
    if busiest is not None:
        return busiest
    mean = kernel.get(ACTIVE_MEAN)
    if mean is None:
        raise MissingCounterError((ACTIVE_MOST, ACTIVE_MEAN))
    return mean / part
