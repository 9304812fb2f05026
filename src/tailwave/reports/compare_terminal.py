"""What differs between two sessions, for a person at a terminal: the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import percent, quantities
from tailwave.model import Comparison, Difference, Session
from tailwave.reports.page import Page
from tailwave.reports.subject import device_name, moment

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = " " * 4
_MANY_TIMES = 2.0  # from here on a change reads easier as a factor
_WORDS = {True: "WORSE", False: "BETTER", None: "DIFFERS"}
_STYLES = {True: "bold yellow", False: "green", None: "bold cyan"}


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Print the whole report of one comparison."""
    page = Page(console)
    page.paragraph(_headline(comparison), style="bold")
    page.blank()
    page.paragraph(_session(comparison.before), lead="  first   ", lead_style="dim")
    page.paragraph(_session(comparison.after), lead="  second  ", lead_style="dim")
    for number, difference in enumerate(comparison.differences, start=1):
        page.blank()
        _print_difference(page, number, difference)
    if comparison.small:
        page.blank()
        page.paragraph(_small(comparison.small))
    page.items("What only one of them has", comparison.missing)


def _headline(comparison: Comparison) -> str:
    figures = comparison.alike + len(comparison.differences) + len(comparison.small)
    if not figures:
        return "The two sessions have no headline figure in common."
    worse = [d for d in comparison.differences if d.worse]
    better = [d for d in comparison.differences if d.worse is False]
    if not comparison.differences:
        return f"No difference that counts: {figures} figures compared."
    parts = [f"{len(worse)} worse", f"{len(better)} better"]
    others = len(comparison.differences) - len(worse) - len(better)
    parts += [f"{others} different"] if others else []
    worst = f" The worst: {worse[0].what}, {_change(worse[0])}." if worse else ""
    return f"Of {figures} figures the second session has {', '.join(parts)}.{worst}"


def _session(session: Session) -> str:
    device = session.device
    name = device_name(device)
    driver = f", driver {device.driver}" if device is not None and device.driver else ""
    return f"{name}{driver}, {moment(session.started)}"


def _print_difference(page: Page, number: int, difference: Difference) -> None:
    lead = f"{number:>2}. {_WORDS[difference.worse]:<7}  "
    title = f"{difference.what}: {_change(difference)}"
    page.paragraph(title, lead=lead, lead_style=_STYLES[difference.worse], style="bold")
    page.paragraph(" -> ".join(_figures(difference)), lead=_INDENT)
    page.paragraph(f"It decides {difference.decides}.", lead=_INDENT)


def _change(difference: Difference) -> str:
    """Say how much more or less the second value is."""
    change = difference.change
    if change is None:
        return "no longer 0"
    if 1 + change >= _MANY_TIMES:
        return f"{1 + change:.1f} times as much"
    return f"{percent(abs(change))} {'more' if change > 0 else 'less'}"


def _figures(difference: Difference) -> list[str]:
    """Word both figures with their intervals, in one unit."""
    both = (difference.before, difference.after)
    values = [number for m in both for number in (m.value or 0.0, *m.interval)]
    words = quantities(*values, unit=difference.before.unit)
    return [
        value if low == high else f"{value} ({low} to {high})"
        for value, low, high in (words[:3], words[3:])
    ]


def _small(differences: tuple[Difference, ...]) -> str:
    names = "; ".join(difference.what for difference in differences)
    return f"Less than two checks of one GPU differ by: {names}."
