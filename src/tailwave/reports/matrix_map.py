"""The latency matrix in blocks of text: SMs downwards by GPC, lines of memory across."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwave.model import Floats
from tailwave.reports.die import Matrix
from tailwave.reports.page import Page
from tailwave.reports.shades import Shades

if TYPE_CHECKING:
    from rich.console import Console

_ACROSS = 64  # blocks a row; with its lead a row stays within 80 columns
_DOWN = 4  # SMs a row


def render_matrix(matrix: Matrix, console: Console) -> None:
    """Print the latency matrix and its legend, within 80 columns."""
    page = Page(console)
    simulated = " (simulated)" if matrix.simulated else ""
    page.paragraph(
        f"L2 latency of each SM (down) to each line (across){simulated}", style="bold underline"
    )
    rows = _blocks(matrix)
    finite = [float(v) for _, row in rows for v in row if np.isfinite(v)]
    shades = Shades(finite or [0.0], matrix.unit, ascii_only=console.options.ascii_only)
    before = None
    for gpc, row in rows:
        lead = f"  GPC {gpc:<3}  " if gpc != before and gpc >= 0 else " " * 11
        page.paragraph("".join(shades.of(float(value)) for value in row), lead=lead)
        before = gpc
    page.paragraph(shades.legend(), lead="  ", style="dim")
    page.paragraph(_key(matrix, len(rows)), lead="  ", style="dim")


def _blocks(matrix: Matrix) -> list[tuple[int, Floats]]:
    """Return rows of blocks, each the mean of some SMs of one GPC over some lines."""
    gpcs = np.array(matrix.gpcs)
    rows: list[tuple[int, Floats]] = []
    for gpc in dict.fromkeys(matrix.gpcs):
        members = np.flatnonzero(gpcs == gpc)
        parts = np.array_split(members, max(1, round(len(members) / _DOWN)))
        rows += [(gpc, _across(matrix.values[part])) for part in parts]
    return rows


def _across(values: Floats) -> Floats:
    lines = values.shape[1]
    parts = np.array_split(values, min(lines, _ACROSS), axis=1)
    return np.array(
        [part[np.isfinite(part)].mean() if np.isfinite(part).any() else np.nan for part in parts]
    )


def _key(matrix: Matrix, rows: int) -> str:
    sms, lines = matrix.values.shape
    return (
        f"{sms} SMs in {rows} rows by GPC; {lines} lines, those that resemble each other together; "
        "a block is the mean of its SMs and lines"
    )
