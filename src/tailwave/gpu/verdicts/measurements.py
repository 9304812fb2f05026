"""The measurements of one check, looked up by name and parameters, and put into words."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tailwave.figures import quantities, quantity
from tailwave.model import Measurement, Status


class Measurements:
    """What a check measured; a figure that it did not is a measurement without a value."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        """Keep the measurements in the order in which they were taken."""
        self._measurements = tuple(measurements)

    def get(self, name: str, **parameters: float | str) -> Measurement:
        """Return the figure of this name that was taken at these parameters.

        Of several, a headline comes first. Where there is none, what became of its probe is
        returned, or UNSUPPORTED when the probe was not run.
        """
        found = self.all(name, **parameters)
        headlines = [m for m in found if m.headline]
        whole_probe = [m for m in self._measurements if m.name == name.partition(".")[0]]
        absent = Measurement(name, Status.UNSUPPORTED, reason="It was not measured.")
        return (headlines or found or whole_probe or [absent])[0]

    def all(self, name: str, **parameters: float | str) -> list[Measurement]:
        """Return every measurement of this name that was taken at these parameters."""
        wanted = parameters.items()
        return [
            m
            for m in self._measurements
            if m.name == name and all(m.parameters.get(key) == value for key, value in wanted)
        ]

    def of_probes(self, probes: tuple[str, ...]) -> list[Measurement]:
        """Return all that these probes measured or could not."""
        return [m for m in self._measurements if m.name.partition(".")[0] in probes]


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


def amounts(*figures: Measurement, times: float = 1.0) -> tuple[str, ...]:
    """Word figures of one sentence, or a multiple of them, in one unit."""
    known = [figure.value for figure in figures if figure.value is not None]
    if len(known) < len(figures) or len({figure.unit for figure in figures}) > 1:
        return tuple(amount(figure, times) for figure in figures)
    return quantities(*(value * times for value in known), unit=figures[0].unit)


def duration(figure: Measurement) -> Measurement:
    """Return a figure in cycles as the time that they took at the clock it was measured at."""
    if figure.value is None or not figure.clock_mhz:
        return figure
    return replace(figure, value=figure.value / figure.clock_mhz * 1e3, unit="ns")
