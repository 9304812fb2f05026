"""What one link says about a few figures."""

from __future__ import annotations

from types import ModuleType

from tailwave.gpu.verdicts.figures import Figures
from tailwave.model import Health, Measurement


def healths(link: ModuleType, *measurements: Measurement) -> dict[str, Health]:
    """Return the health of each criterion that had a figure, by what it holds."""
    criteria = link.criteria(Figures(measurements))
    return {c.what: c.health for c in criteria if c.value is not None}


def words(link: ModuleType, *measurements: Measurement) -> tuple[str, str]:
    """Return the claim and the meaning."""
    figures = Figures(measurements)
    return link.claim(figures), link.meaning(figures)
