"""Shows on stderr how far a check is, when somebody is looking."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from tailwave.figures import quantity
from tailwave.model import Measurement, Status


class Progress:
    """A bar over the probes; headline figures are printed above it as they are taken."""

    def __init__(self, probes: tuple[str, ...]) -> None:
        """Show nothing unless stderr is a terminal."""
        columns = (TextColumn("{task.description:<13}"), BarColumn(), TimeElapsedColumn())
        self._bar = Bar(
            *columns,
            console=Console(stderr=True, highlight=False),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=len(probes))
        self._begun = 0

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def begin(self, probe: str) -> None:
        """Say which probe runs now."""
        self._bar.update(self._task, description=probe, completed=self._begun)
        self._begun += 1

    def show(self, measurement: Measurement) -> None:
        """Print a headline figure as it is taken."""
        if not measurement.headline or self._bar.disable:
            return
        value = measurement.value
        known = measurement.status is Status.OK and value is not None
        figure = quantity(value, measurement.unit) if known and value is not None else "-"
        simulated = " (simulated)" if measurement.simulated else ""
        self._bar.console.print(f"  {measurement.name:<32} {figure}{simulated}", soft_wrap=True)
