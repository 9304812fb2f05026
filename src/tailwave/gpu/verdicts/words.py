"""How verdicts word figures; what is not known is left out."""

from __future__ import annotations

from tailwave.figures import quantity
from tailwave.model import Measurement


def listed(*labelled: tuple[str, Measurement]) -> str:
    """Word the figures that there are: "graph node 0.500 us, launch 3.50 us"."""
    parts = [
        f"{label} {quantity(figure.value, figure.unit)}"
        for label, figure in labelled
        if figure.value is not None
    ]
    return ", ".join(parts)


def amount(figure: Measurement, times: float = 1.0) -> str:
    """Word a figure, or a multiple of it; "unknown" where there is none."""
    if figure.value is None:
        return "unknown"
    return quantity(figure.value * times, figure.unit)


def sentences(*candidates: tuple[str, tuple[Measurement, ...]]) -> str:
    """Join the sentences whose figures are all known."""
    return " ".join(
        sentence
        for sentence, figures in candidates
        if all(figure.value is not None for figure in figures)
    )


def duration(figure: Measurement) -> str:
    """Word a figure in cycles as the time that they took at the clock it was measured at."""
    if figure.value is None or not figure.clock_mhz:
        return amount(figure)
    return quantity(figure.value / figure.clock_mhz * 1e3, "ns")
