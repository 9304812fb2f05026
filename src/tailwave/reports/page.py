"""A page of text for a console: paragraphs, columns and bars, in characters it can show.

Names in a recording are written by strangers. Whatever the console cannot show, control
characters and terminal commands included, is printed as a question mark.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

_HEADING = "bold underline"
_WIDTH = 80
_LEAST_WIDTH = 20  # a narrower terminal wraps the lines itself
_GAP = 2  # between columns
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Cell(NamedTuple):
    """A text in a column so many characters wide; 0 takes what the columns before it leave."""

    text: str
    width: int = 0
    style: str = ""


class Page:
    """Prints text that hangs beside its lead; lines are 80 columns wide at most."""

    def __init__(self, console: Console) -> None:
        """Write to the console given."""
        self._console = console
        self._width = min(console.width, _WIDTH)
        self._ascii_only = console.options.ascii_only

    def blank(self) -> None:
        """Print an empty line."""
        self._console.print()

    def paragraph(
        self, body: str, *, lead: str = "", lead_style: str = "", style: str = ""
    ) -> None:
        """Print the lead, and the body beside it: its further lines are indented as far."""
        indent = cell_len(lead)
        lines = Text(self._shown(body)).wrap(self._console, self._room(indent))
        for number, line in enumerate(lines):
            start = " " * indent if number else self._shown(lead)
            self._print(Text.assemble((start, lead_style), (line.plain, style)))

    def heading(self, text: str) -> None:
        """Print a heading below an empty line."""
        self.blank()
        self.paragraph(text, style=_HEADING)

    def items(self, heading: str, lines: Sequence[str]) -> None:
        """Print a heading and a list below it; nothing where the list is empty."""
        if lines:
            self.heading(heading)
        for line in lines:
            self.paragraph(line, lead="  - ")

    def next_command(self, command: str) -> None:
        """Print what to type next, in a form that can be pasted; nothing where there is none."""
        if command:
            self.blank()
            self.paragraph(command, lead="next: ", lead_style="dim", style="bold")

    def columns(self, *cells: Cell) -> None:
        """Print cells side by side, two spaces apart, each line of them wrapped to its width."""
        taken = sum(cell.width + _GAP for cell in cells)
        widths = [cell.width or self._room(taken - _GAP) for cell in cells]
        wrapped = [
            [
                line
                for part in cell.text.split("\n")
                for line in Text(self._shown(part)).wrap(self._console, width)
            ]
            for cell, width in zip(cells, widths, strict=True)
        ]
        for lines in zip_longest(*wrapped, fillvalue=Text()):
            row = Text()
            for line, cell, width in zip(lines, cells, widths, strict=True):
                row.append(f"{line.plain:<{width + _GAP}}", cell.style)
            self._print(row)

    def bar(self, share: float, *, lead: str, style: str) -> None:
        """Print the lead, and beside it a bar that fills a share (0 to 1) of the line's rest."""
        filled = share * self._room(cell_len(lead))
        whole, part = int(filled), int(filled % 1 * 8)
        bar = "#" * round(filled) if self._ascii_only else "█" * whole + _EIGHTHS[part].strip()
        self._print(Text.assemble(lead, (bar, style)))

    def _print(self, line: Text) -> None:
        line.rstrip()
        self._console.print(line, soft_wrap=True)

    def _room(self, indent: int) -> int:
        return max(self._width - indent, _LEAST_WIDTH)

    def _shown(self, text: str) -> str:
        plain = "".join(c if c.isprintable() else "?" for c in text)
        encoding = self._console.encoding
        return plain.encode(encoding, errors="replace").decode(encoding)
