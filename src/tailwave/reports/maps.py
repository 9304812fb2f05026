"""The die map and the latency matrix of a session, in blocks of text.

A figure is a shade of a character, which needs no colour: the darker, the more.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tailwave.figures import quantity
from tailwave.model import Floats, Session
from tailwave.reports.die import Die, Gpc, Matrix, latency_die, latency_matrix
from tailwave.reports.page import Page

if TYPE_CHECKING:
    from rich.console import Console

_BLOCKS = "░▒▓█"
_ASCII = ".:*#"
_NOT_MEASURED = "?"
# Characters an SM of the die and between TPCs, the first for which the largest GPC leaves room.
_STEPS = ((2, " "), (1, " "), (1, ""))
_AROUND = 30  # columns of a GPC's row that are not its TPCs: its name and its mean
_LEAD = 11  # columns before them
_DOWN = 4  # SMs of a row


def render_maps(session: Session, console: Console) -> None:
    """Print both maps, or what was not measured for them."""
    page = Page(console)
    page.blank()
    die, matrix = latency_die(session), latency_matrix(session)
    if die is None:
        page.paragraph("The die was not mapped: that takes the probe topology.")
    else:
        _render_die(page, die, ascii_only=console.options.ascii_only)
    page.blank()
    if matrix is None:
        page.paragraph("There is no latency matrix: that takes the probe l2.")
    else:
        _render_matrix(page, matrix, ascii_only=console.options.ascii_only)


def _render_die(page: Page, die: Die, *, ascii_only: bool) -> None:
    """Print a row per GPC, a pair of blocks per TPC, and the legend."""
    simulated = " (simulated)" if die.simulated else ""
    page.paragraph(f"The die: {die.what}{simulated}", style="bold underline")
    if not die.values:
        page.paragraph("The latency of the SMs was not measured.", lead="  ")
    shades = Shades(die.values or [0.0], die.unit, ascii_only=ascii_only)
    rows = _rows(die, shades, page.width - _AROUND)
    widest = max(map(len, rows), default=0)
    for gpc, row in zip(die.gpcs, rows, strict=True):
        line = f"GPC {gpc.index:<2} {len(gpc.processors):>3} SMs  {row:<{widest}}  "
        page.paragraph(f"{line}{_mean(gpc, die.unit)}".rstrip(), lead="  ")
    if die.values:
        page.paragraph(shades.legend(), lead="  ", style="dim")
    page.paragraph(_key_of_die(die), lead="  ", style="dim")


def _rows(die: Die, shades: Shades, room: int) -> list[str]:
    """Shade the SMs of each GPC by TPC, as wide as fits into so many columns."""
    for width, gap in _STEPS:
        rows = [
            gap.join("".join(shades.of(sm.value) * width for sm in tpc) for tpc in gpc.tpcs)
            for gpc in die.gpcs
        ]
        if max(map(len, rows), default=0) <= room:
            break
    return rows


def _mean(gpc: Gpc, unit: str) -> str:
    values = [sm.value for sm in gpc.processors if sm.value is not None]
    return quantity(statistics.fmean(values), unit) if values else ""


def _key_of_die(die: Die) -> str:
    unknown = len([sm for gpc in die.gpcs for sm in gpc.processors if sm.value is None])
    missing = f"; {_NOT_MEASURED} was not measured" if unknown and die.values else ""
    return f"a group is a TPC with its SMs; on the right the GPC's mean{missing}"


def _render_matrix(page: Page, matrix: Matrix, *, ascii_only: bool) -> None:
    """Print SMs downwards by GPC, lines of memory across, and the legend."""
    simulated = " (simulated)" if matrix.simulated else ""
    page.paragraph(
        f"L2 latency of each SM (down) to each line (across){simulated}", style="bold underline"
    )
    rows = _blocks(matrix, page.width - _LEAD)
    finite = [float(v) for _, row in rows for v in row if np.isfinite(v)]
    shades = Shades(finite or [0.0], matrix.unit, ascii_only=ascii_only)
    before = None
    for gpc, row in rows:
        lead = f"  GPC {gpc:<3}  " if gpc != before and gpc >= 0 else " " * _LEAD
        page.paragraph("".join(shades.of(float(value)) for value in row), lead=lead)
        before = gpc
    page.paragraph(shades.legend(), lead="  ", style="dim")
    page.paragraph(_key_of_matrix(matrix, len(rows)), lead="  ", style="dim")


def _blocks(matrix: Matrix, across: int) -> list[tuple[int, Floats]]:
    """Return rows of blocks, each the mean of some SMs of one GPC over some lines."""
    gpcs = np.array(matrix.gpcs)
    rows: list[tuple[int, Floats]] = []
    for gpc in dict.fromkeys(matrix.gpcs):
        members = np.flatnonzero(gpcs == gpc)
        parts = np.array_split(members, max(1, round(len(members) / _DOWN)))
        rows += [(gpc, _across(matrix.values[part], across)) for part in parts]
    return rows


def _across(values: Floats, most: int) -> Floats:
    lines = values.shape[1]
    parts = np.array_split(values, min(lines, most), axis=1)
    return np.array(
        [part[np.isfinite(part)].mean() if np.isfinite(part).any() else np.nan for part in parts]
    )


def _key_of_matrix(matrix: Matrix, rows: int) -> str:
    sms, lines = matrix.values.shape
    return (
        f"{sms} SMs in {rows} rows by GPC; {lines} lines, those that resemble each other together; "
        "a block is the mean of its SMs and lines"
    )


class Shades:
    """Four equal steps from the least to the greatest of some figures."""

    def __init__(self, values: Sequence[float], unit: str, *, ascii_only: bool) -> None:
        """Take the range of the figures, at least one."""
        self._low, self._high = min(values), max(values)
        self._unit = unit
        self._characters = _ASCII if ascii_only else _BLOCKS

    def of(self, value: float | None) -> str:
        """Return the character for a figure."""
        if value is None or value != value:  # noqa: PLR0124 - NaN is the one that differs
            return _NOT_MEASURED
        steps = len(self._characters)
        share = (value - self._low) / (self._high - self._low) if self._high > self._low else 0
        return self._characters[min(int(share * steps), steps - 1)]

    def legend(self) -> str:
        """Say which figures each character stands for."""
        step = (self._high - self._low) / len(self._characters)
        edges = [
            quantity(self._low + step * number, "") for number in range(len(self._characters) + 1)
        ]
        parts = [
            f"{character} {low} to {high}"
            for character, (low, high) in zip(self._characters, pairwise(edges), strict=True)
        ]
        return f"{'  '.join(parts)} {self._unit}"
