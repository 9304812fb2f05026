"""Whether a link's figures come out the same each time.

The bound is what check itself promises (``RESOLUTION``): the timing loop goes on until the 95%
interval of a median is narrower, or the time allowed is over. A GPU's own figures are counted by
its own clocks, so one that stays wider means that the GPU jitters.

Figures that the host has its part in are left out: what else the host does scatters them, and says
nothing about the GPU. So are the slowest runs (p99), whose scatter is the figure.
"""

from __future__ import annotations

from tailwave.gpu.headlines import RESOLUTION, headline
from tailwave.gpu.verdicts.criteria import within
from tailwave.model import Criterion, Health, Measurement


def repeatability(measurements: list[Measurement]) -> tuple[Criterion, ...]:
    """Hold the least repeatable headline figure against the bound; nothing without figures."""
    spreads = [_spread(m) for m in measurements if m.headline and m.value and not _scatters(m)]
    if not spreads:
        return ()
    worst = max(spreads, key=lambda spread: spread.value or 0.0)
    what = f"half the interval of {worst.name} against its median, the widest of the link"
    return (within(what, worst, most=RESOLUTION, breach=Health.WARNING),)


def _scatters(measurement: Measurement) -> bool:
    """Tell whether a figure may scatter on a healthy GPU."""
    return headline(measurement.name).host or measurement.parameters.get("quantile") == "p99"


def _spread(measurement: Measurement) -> Measurement:
    low, high = measurement.interval
    spread = (high - low) / 2 / abs(measurement.value or 1.0)
    return Measurement(measurement.name, measurement.status, unit="ratio", value=spread)
