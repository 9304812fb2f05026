"""A check for a person at a terminal: the answer, link by link, and what it rests on.

Colour only repeats what the words say, so the report reads the same in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import counted, quantities, quantity
from tailwave.model import (
    Basis,
    Criterion,
    DeviceFacts,
    Health,
    Measurement,
    Session,
    Status,
    Verdict,
)
from tailwave.reports.check_headline import headline
from tailwave.reports.page import Cell, Page
from tailwave.reports.subject import device_name, is_simulated, moment

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    Health.CRITICAL: "bold red",
    Health.WARNING: "bold yellow",
    Health.UNKNOWN: "bold magenta",
    Health.OK: "green",
}
_LINK, _HEALTH, _FIGURE = 9, 8, 22  # widths of the table's columns
_NARROW = 72  # on narrower pages the table's columns stand below each other
_INDENT = "    "


def render_check(session: Session, console: Console) -> None:
    """Print the whole report of one check."""
    page = Page(console)
    page.paragraph(headline(session), style="bold")
    if session.device is not None:
        _print_subject(page, session, session.device)
    if session.verdicts:
        page.blank()
        print_links = _print_list if page.width < _NARROW else _print_table
        print_links(page, session)
    _print_unmeasured(page, session)
    _print_details(page, session.verdicts)
    page.items("Notes", session.notes)


def _print_subject(page: Page, session: Session, device: DeviceFacts) -> None:
    """Print what was measured, when, and what it was compared with."""
    page.blank()
    page.paragraph(_device(device), lead="  device     ", lead_style="dim")
    page.paragraph(session.reference or "none", lead="  reference  ", lead_style="dim")
    figures = counted(sum(m.status is Status.OK for m in session.measurements), "figure")
    page.paragraph(
        f"{moment(session.started)}, {quantity(session.seconds, 's')}, {figures}",
        lead="  run        ",
        lead_style="dim",
    )


def _device(device: DeviceFacts) -> str:
    parts = [device_name(device)]
    parts += [f"{device.sm_count} SMs"] if device.sm_count else []
    parts += [f"driver {device.driver}"] if device.driver else []
    parts += ["no figure below comes from a real GPU"] if device.simulated else []
    return ", ".join(parts)


def _print_table(page: Page, session: Session) -> None:
    figure = "figure (simulated)" if is_simulated(session) else "figure"
    _print_row(page, ("link", "health", figure, "what it means for your work"), "dim")
    for verdict in session.verdicts:
        figures = verdict.claim.replace(", ", "\n")  # a line for each
        meaning = "\n".join([verdict.meaning, *_complaints(verdict)])
        _print_row(
            page, (verdict.link, verdict.health.upper(), figures, meaning), _STYLES[verdict.health]
        )


def _print_list(page: Page, session: Session) -> None:
    """Print the links one below the other, where there is no room for a table."""
    for verdict in session.verdicts:
        lead = f"{verdict.link:<{_LINK}}  "
        page.paragraph(verdict.health.upper(), lead=lead, style=_STYLES[verdict.health])
        simulated = " (simulated)" if is_simulated(session) else ""
        for text in (f"{verdict.claim}{simulated}", verdict.meaning, *_complaints(verdict)):
            page.paragraph(text, lead=_INDENT)


def _complaints(verdict: Verdict) -> list[str]:
    """Say what keeps a link from being OK."""
    bad = [c for c in verdict.criteria if c.health in {Health.WARNING, Health.CRITICAL}]
    worded = [(c, *_worded(c)) for c in bad]
    return [f"{c.health.upper()}: {c.what}, {figure} ({bound})." for c, figure, bound in worded]


def _print_row(page: Page, texts: tuple[str, str, str, str], style: str) -> None:
    link, health, figure, meaning = texts
    page.columns(
        Cell(link, _LINK), Cell(health, _HEALTH, style), Cell(figure, _FIGURE), Cell(meaning)
    )


def _print_unmeasured(page: Page, session: Session) -> None:
    """Print what could not be measured, once for each reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for measurement in session.measurements:
        if measurement.status is not Status.OK:
            same = names.setdefault((measurement.status, measurement.reason), [])
            same += [measurement.name] if measurement.name not in same else []
    if not names:
        return
    page.heading("What could not be measured, and why")
    for (status, reason), figures in names.items():
        page.paragraph(f"{', '.join(figures)}: {reason}", lead=f"  {status:<11}  ")


def _print_details(page: Page, verdicts: tuple[Verdict, ...]) -> None:
    spoken = [v for v in verdicts if any(c.value is not None for c in v.criteria)]
    if not spoken:
        return
    page.heading("What the verdicts rest on")
    for verdict in spoken:
        page.paragraph(verdict.link, style="bold")
        for criterion in verdict.criteria:
            if criterion.value is not None and not _is_as_usual(criterion):
                _print_criterion(page, criterion)
        _print_as_usual(page, verdict)
        _print_not_compared(page, verdict)


def _print_criterion(page: Page, criterion: Criterion) -> None:
    figure, bound = _worded(criterion)
    style = "" if criterion.health is Health.OK else _STYLES[criterion.health]
    lead = _lead(criterion.health, figure)
    page.paragraph(f"{criterion.what} ({bound})", lead=lead, lead_style=style)


def _is_as_usual(criterion: Criterion) -> bool:
    """Tell whether a figure is within what the reference allows: one line counts them all."""
    return criterion.basis is Basis.REFERENCE and criterion.health is Health.OK


def _print_as_usual(page: Page, verdict: Verdict) -> None:
    count = sum(_is_as_usual(criterion) for criterion in verdict.criteria)
    if count:
        lead = _lead(Health.OK, counted(count, "figure"))
        page.paragraph("within what the reference allows", lead=lead)


def _lead(health: Health, figure: str) -> str:
    return f"  {health.upper():<8}  {figure:>12}  "


def _print_not_compared(page: Page, verdict: Verdict) -> None:
    """Print what was measured and not compared with the reference, once for each reason."""
    names: dict[str, list[str]] = {}
    for criterion in verdict.criteria:
        if criterion.basis is Basis.REFERENCE and criterion.value is None:
            names.setdefault(criterion.reason, []).append(criterion.what)
    for reason, whats in names.items():
        lead = " " * len(_lead(verdict.health, ""))
        page.paragraph(f"not compared: {'; '.join(whats)}. {reason}", lead=lead, style="dim")


def _worded(criterion: Criterion) -> tuple[str, str]:
    """Word a figure, and which figures are healthy, in one unit."""
    value, least, most = criterion.value, criterion.least, criterion.most
    known = [number for number in (value, least, most) if number is not None]
    words: dict[float | None, str] = dict(
        zip(known, quantities(*known, unit=criterion.unit), strict=True)
    )
    low, high = words.get(least, ""), words.get(most, "")
    bounds = f"{low} to {high}" if low and high else f"at least {low}" if low else f"up to {high}"
    word = "the reference allows" if criterion.basis is Basis.REFERENCE else "healthy"
    return words.get(value, ""), f"{word}: {bounds}"


def render_figures(session: Session, console: Console) -> None:
    """Print the figures in the order in which they were taken, headline figures in bold."""
    page = Page(console)
    heading = "Every figure (simulated)" if is_simulated(session) else "Every figure"
    page.heading(heading)
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
    value, low, high = quantities(measurement.value, *measurement.interval, unit=unit)
    parts = [value]
    parts += [f"{low} to {high}"] if low != high else []
    parts += [f"{len(measurement.samples)} samples"] if measurement.samples else []
    parts += [f"{measurement.outliers} far out"] if measurement.outliers else []
    parts += [f"at {measurement.clock_mhz:,.0f} MHz"] if measurement.clock_mhz else []
    return ", ".join(parts)
