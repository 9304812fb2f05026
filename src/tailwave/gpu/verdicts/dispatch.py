"""How fast, and how evenly, do CTAs get to the SMs?

Published: 0.54 ns a CTA on a B300 (QuickRunCUDA).

Bounds on any GPU:

- A grid's time is a straight line in its CTAs. A dispatcher that had to search for a free SM would
  take longer for each CTA as grids grow, and bend the line. What the line leaves unexplained is to
  be within what a check can tell (``RESOLUTION``) of what the times differ by, so R squared is at
  least 1 - ``RESOLUTION`` squared. A bend is a WARNING.
- Equal CTAs, each filling an SM, are handed to whichever SM is free. SMs of one speed then run the
  same number of them but for one more or less: of ``waves`` on average at least ``waves`` - 1
  against ``waves`` + 1. An SM below that is slow or passed over, and every grid waits for it
  (CRITICAL).
"""

from __future__ import annotations

from tailwave.gpu.headlines import RESOLUTION
from tailwave.gpu.verdicts.criteria import within
from tailwave.gpu.verdicts.measurements import Measurements, amount, listed, sentences
from tailwave.model import Criterion, Health

LINK = "dispatch"
PROBES = ("dispatch",)
_WAVES = 16  # CTAs an SM where the figure does not say: what the probe runs
_MANY = 1_000_000


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold dispatch against a straight line, and the slowest SM against the fastest."""
    fairness = figures.get("dispatch.fairness")
    waves = float(fairness.parameters.get("waves", _WAVES))
    return (
        within(
            "how straight the time of a grid is in its CTAs",
            figures.get("dispatch.linearity"),
            least=1 - RESOLUTION**2,
            breach=Health.WARNING,
        ),
        within(
            "equal CTAs on the SM that ran fewest against the SM that ran most",
            fairness,
            least=(waves - 1) / (waves + 1),
        ),
    )


def claim(figures: Measurements) -> str:
    """Word the rate and the fairness."""
    return listed(
        ("a CTA", figures.get("dispatch.ns_per_cta")),
        ("slowest SM's share", figures.get("dispatch.fairness")),
        ("refill gap", figures.get("dispatch.refill_gap")),
    )


def meaning(figures: Measurements) -> str:
    """Say what many small CTAs cost."""
    rate, gap = figures.get("dispatch.ns_per_cta"), figures.get("dispatch.refill_gap")
    return sentences(
        (f"A grid of {_MANY:,} CTAs costs {amount(rate, _MANY)} before any work.", (rate,)),
        (f"An SM waits longer than it works on CTAs shorter than {amount(gap)}.", (gap,)),
    )
