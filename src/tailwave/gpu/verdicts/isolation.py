"""What does a tenant on the same GPU cost, and does a partition help?

No published figure was found.

Bound on any GPU:

- Work with SMs of its own waits less for a tenant than work that shares them: its slow runs (p99)
  take less time. A partition in which they take as long isolates nothing (CRITICAL).
"""

from __future__ import annotations

from tailwave.gpu.verdicts.criteria import quotient
from tailwave.gpu.verdicts.measurements import Measurements, amounts, listed, sentences
from tailwave.model import Criterion, Measurement

LINK = "isolation"
PROBES = ("context", "interference")


def criteria(figures: Measurements) -> tuple[Criterion, ...]:
    """Hold a partition against sharing."""
    return (
        quotient(
            "work beside a tenant with SMs of its own against sharing them, p99",
            _p99(figures, "partition"),
            _p99(figures, "shared"),
            most=1.0,
        ),
    )


def _p99(figures: Measurements, how: str) -> Measurement:
    return figures.get(f"interference.{how}", quantile="p99")


def claim(figures: Measurements) -> str:
    """Word the slow runs of small work, by what it shares."""
    return listed(
        ("p99 alone", _p99(figures, "alone")),
        ("beside a tenant", _p99(figures, "shared")),
        ("with own SMs", _p99(figures, "partition")),
    )


def meaning(figures: Measurements) -> str:
    """Say what a tenant costs, and what a partition brings and costs."""
    shared, own = _p99(figures, "shared"), _p99(figures, "partition")
    pays = figures.get("interference.tenant_pays")
    beside, apart = amounts(shared, own)
    return sentences(
        (
            f"Small work beside a tenant takes up to {beside}, and {apart} with SMs of its own.",
            (shared, own),
        ),
        (f"The tenant then takes {pays.value or 0:.1f} times as long.", (pays,)),
    )
