"""The die map and the latency matrix of a session, in blocks of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.model import Session
from tailwave.reports.die import latency_die, latency_matrix
from tailwave.reports.die_map import render_die
from tailwave.reports.matrix_map import render_matrix
from tailwave.reports.page import Page

if TYPE_CHECKING:
    from rich.console import Console


def render_maps(session: Session, console: Console) -> None:
    """Print both maps, or what was not measured for them."""
    page = Page(console)
    page.blank()
    die, matrix = latency_die(session), latency_matrix(session)
    if die is None:
        page.paragraph("The die was not mapped: that takes the probe topology.")
    else:
        render_die(die, console)
    page.blank()
    if matrix is None:
        page.paragraph("There is no latency matrix: that takes the probe l2.")
    else:
        render_matrix(matrix, console)
