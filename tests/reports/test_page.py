"""A page keeps to its width, and to what stands together."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from tailwave.reports.page import Cell, Page
from tests.reports.printed import printed

PATH = "/data/" + "traces/" * 6 + "step.json.gz"  # 60 columns


def on(width: int, show: Callable[[Page], None], *, terminal: bool = False) -> list[str]:
    """Return the lines that a page of some width shows."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, highlight=False
    )
    with console.capture() as capture:
        show(Page(console))
    return capture.get().splitlines()


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


def test_columns_share_a_narrow_page() -> None:
    """Where the columns are wider than the page, the widest give way."""
    cells = (Cell("name " * 4, 20), Cell("decision", 14), Cell("+1.0%", 6))
    lines = on(30, lambda page: page.columns(*cells))
    assert max(map(len, lines)) <= 30
    assert sorted("".join(lines).replace(" ", "")) == sorted("name" * 4 + "decision+1.0%")


@pytest.mark.parametrize(
    ("width", "terminal", "expected"),
    [(200, True, 120), (100, True, 100), (200, False, 80), (50, False, 50)],
)
def test_the_width_of_a_page(width: int, terminal: bool, expected: int) -> None:  # noqa: FBT001 - a case
    """It is the terminal's, to 120 columns; in a file or a pipe it is 80, or less if so asked."""
    lines = on(width, lambda page: page.paragraph("x " * 200), terminal=terminal)
    assert len(lines[0]) in (expected - 1, expected)


def test_a_path_that_does_not_fit_has_a_line_of_its_own() -> None:
    """It is never broken: it begins where its lead ends if it can, and further left if not."""
    fits = on(80, lambda page: page.paragraph(f"{PATH} (kineto)", lead="  recording  "))
    assert fits == [f"  recording  {PATH}", "             (kineto)"]
    moved = on(65, lambda page: page.paragraph(f"{PATH} (kineto)", lead="  recording  "))
    assert moved == ["  recording", f"     {PATH}", "             (kineto)"]
    whole = on(50, lambda page: page.paragraph(f"{PATH} (kineto)", lead="  recording  "))
    assert whole == ["  recording", PATH, "             (kineto)"]


def test_another_long_word_is_folded() -> None:
    """A name without an end is no reason to leave the page."""
    lines = on(40, lambda page: page.paragraph(f"in {'x' * 50} it", lead="kernel  "))
    assert lines == ["kernel  in", f"        {'x' * 32}", f"        {'x' * 18} it"]


def test_a_lead_that_leaves_no_room_stands_above_its_text() -> None:
    """On a narrow page what belongs beside it is below it, indented."""
    lines = on(
        40, lambda page: page.paragraph("saves 2.44 ms", lead="  no-interference  12.0 ms  ")
    )
    assert lines == ["  no-interference  12.0 ms", "    saves 2.44 ms"]


def test_a_bar_gives_way_to_its_label() -> None:
    """On a narrow page the label wraps, and there is no bar."""
    label = Cell("idle, waiting for launches", 26)
    assert on(40, lambda page: page.bar(0.5, label, "1.00 ms  50%")) == [
        "  idle, waiting for         1.00 ms  50%",
        "  launches",
    ]


def test_the_next_command_can_be_pasted() -> None:
    """A long one goes on after a backslash, at a space; one with quotes is left whole."""
    assert on(40, lambda page: page.next_command("tailwave whatif a.json --cuda-graph")) == [
        "",
        "next: tailwave whatif a.json \\",
        "      --cuda-graph",
    ]
    quoted = "tailwave whatif 'my recordings/of decode.json.gz' --cuda-graph"
    assert on(40, lambda page: page.next_command(quoted)) == ["", f"next: {quoted}"]
    assert on(40, lambda page: page.next_command("")) == []
