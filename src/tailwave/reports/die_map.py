"""The die in blocks of text: a row per GPC, a pair of blocks per TPC, shaded by latency."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tailwave.figures import quantity
from tailwave.reports.die import Die, Gpc
from tailwave.reports.page import Page
from tailwave.reports.shades import NOT_MEASURED, Shades

if TYPE_CHECKING:
    from rich.console import Console

_WIDE, _NARROW = 2, 1  # characters an SM, as the largest GPC leaves room
_ROOM = 50  # columns for the TPCs, between a GPC's name and its mean


def render_die(die: Die, console: Console) -> None:
    """Print the die map and its legend, within 80 columns."""
    page = Page(console)
    simulated = " (simulated)" if die.simulated else ""
    page.paragraph(f"The die: {die.what}{simulated}", style="bold underline")
    if not die.values:
        page.paragraph("The latency of the SMs was not measured.", lead="  ")
    shades = Shades(die.values or [0.0], die.unit, ascii_only=console.options.ascii_only)
    width = _sm_width(die)
    rows = [_tpcs(gpc, shades, width) for gpc in die.gpcs]
    widest = max(map(len, rows), default=0)
    for gpc, row in zip(die.gpcs, rows, strict=True):
        lead = f"  GPC {gpc.index:<2} {len(gpc.processors):>3} SMs  {row:<{widest}}  "
        page.paragraph(_mean(gpc, die.unit), lead=lead)
    if die.values:
        page.paragraph(shades.legend(), lead="  ", style="dim")
    page.paragraph(_key(die), lead="  ", style="dim")


def _sm_width(die: Die) -> int:
    """Return the characters for an SM: two when every GPC then fits its line."""
    widths = [sum(len(tpc) * _WIDE + 1 for tpc in gpc.tpcs) for gpc in die.gpcs]
    return _WIDE if max(widths, default=0) <= _ROOM else _NARROW


def _tpcs(gpc: Gpc, shades: Shades, width: int) -> str:
    return " ".join("".join(shades.of(sm.value) * width for sm in tpc) for tpc in gpc.tpcs)


def _mean(gpc: Gpc, unit: str) -> str:
    values = [sm.value for sm in gpc.processors if sm.value is not None]
    return quantity(statistics.fmean(values), unit) if values else ""


def _key(die: Die) -> str:
    unknown = len([sm for gpc in die.gpcs for sm in gpc.processors if sm.value is None])
    missing = f"; {NOT_MEASURED} was not measured" if unknown and die.values else ""
    return f"a group is a TPC with its SMs; on the right the GPC's mean{missing}"
