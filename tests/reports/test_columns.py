"""Texts side by side on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.reports.page import Cell, Page
from tests.reports.printed import printed

if TYPE_CHECKING:
    from rich.console import Console


def row(cells: tuple[Cell, ...], console: Console) -> None:
    """Print one row."""
    Page(console).columns(*cells)


def test_each_cell_wraps_in_its_column() -> None:
    """A long cell goes on below itself, and the last takes what is left of 80 columns."""
    cells = (Cell("link", 6), Cell("one two three", 7), Cell("word " * 17))
    twelve = " ".join(["word"] * 12)  # 63 columns are left
    assert printed(row, cells) == (
        f"link    one two  {twelve}\n        three    word word word word word\n"
    )


def test_a_line_break_stays() -> None:
    """A cell of several lines keeps them, next to the lines of the others."""
    assert printed(row, (Cell("a\nb", 3), Cell("c"))) == "a    c\nb\n"


def test_an_empty_cell_keeps_its_place() -> None:
    """A row with an empty cell keeps its columns."""
    assert printed(row, (Cell("", 3), Cell("c"))) == "     c\n"
