"""The measurements of one check, looked up by name and parameters."""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.model import Measurement, Status


class Figures:
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
