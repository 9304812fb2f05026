"""What one link says about a few figures."""

from __future__ import annotations

from tailwave.gpu.verdicts.link import Link
from tailwave.gpu.verdicts.measurements import Measurements
from tailwave.model import Health, Measurement


def healths(link: Link, *measurements: Measurement) -> dict[str, Health]:
    """Return the health of each criterion that had a figure, by what it holds."""
    criteria = link.criteria(Measurements(measurements))
    return {c.what: c.health for c in criteria if c.value is not None}


def words(link: Link, *measurements: Measurement) -> tuple[str, str]:
    """Return the claim and the meaning."""
    figures = Measurements(measurements)
    return link.claim(figures), link.meaning(figures)
