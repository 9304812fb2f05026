"""Every figure of a session with its interval, for who wants to see what the verdicts rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import quantity
from tailwave.model import Measurement, Session, Status
from tailwave.reports.page import Page
from tailwave.reports.subject import is_simulated

if TYPE_CHECKING:
    from rich.console import Console


def render_figures(session: Session, console: Console) -> None:
    """Print the figures in the order in which they were taken, headline figures in bold."""
    page = Page(console)
    heading = "Every figure (simulated)" if is_simulated(session) else "Every figure"
    page.blank()
    page.paragraph(heading, style="bold underline")
    for measurement in session.measurements:
        style = "bold" if measurement.headline else ""
        page.paragraph(_title(measurement), lead="  ", style=style)
        page.paragraph(_figure(measurement), lead="      ")


def _title(measurement: Measurement) -> str:
    parameters = ", ".join(f"{name} {value}" for name, value in measurement.parameters.items())
    return f"{measurement.name} ({parameters})" if parameters else measurement.name


def _figure(measurement: Measurement) -> str:
    if measurement.status is not Status.OK or measurement.value is None:
        return f"{measurement.status}: {measurement.reason}"
    unit = measurement.unit
    low, high = measurement.interval
    parts = [quantity(measurement.value, unit)]
    parts += [f"{quantity(low, unit)} to {quantity(high, unit)}"] if low < high else []
    parts += [f"{len(measurement.samples)} samples"] if measurement.samples else []
    parts += [f"{measurement.outliers} far out"] if measurement.outliers else []
    parts += [f"at {measurement.clock_mhz:,.0f} MHz"] if measurement.clock_mhz else []
    return ", ".join(parts)
