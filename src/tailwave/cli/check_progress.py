"""Shows on stderr how far a check is, when somebody is looking."""

from __future__ import annotations

from tailwave.cli.bar import Bar
from tailwave.figures import quantity
from tailwave.model import Measurement, Status


class Progress(Bar):
    """A bar over the probes; headline figures are printed above it as they are taken."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        """Show nothing unless stderr is a terminal."""
        super().__init__(total=len(probes), words="{task.description:<13}")
        self._begun = 0

    def begin(self, probe: str) -> None:
        """Say which probe runs now."""
        self.update(probe, self._begun)
        self._begun += 1

    def show(self, measurement: Measurement) -> None:
        """Print a headline figure as it is taken."""
        if not measurement.headline or not self.is_seen:
            return
        value = measurement.value
        known = measurement.status is Status.OK and value is not None
        figure = quantity(value, measurement.unit) if known and value is not None else "-"
        simulated = " (simulated)" if measurement.simulated else ""
        self.console.print(f"  {measurement.name:<32} {figure}{simulated}", soft_wrap=True)
