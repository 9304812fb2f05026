"""A page of text for a console: paragraphs, columns and bars, in characters it can show.

Names in a recording are written by strangers. Whatever the console cannot show, control
characters and terminal commands included, is printed as a question mark.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells
from rich.text import Text

from tailwave.model import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

SEVERITY_STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.MAJOR: "bold yellow",
    Severity.MINOR: "bold cyan",
    Severity.INFO: "dim",
}
_HEADING = "bold underline"
_WIDEST = 120  # lines that are longer than that are hard to follow
_WITHOUT_TERMINAL = 80  # in a file and in a pipe
_LEAST_ROOM = 20  # beside a lead that leaves less, the text stands below it
_LEAST_BAR = 8
_BELOW = 4  # columns by which a text below its lead is indented
_GAP = 2  # between columns
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Cell(NamedTuple):
    """A text in a column so many characters wide; 0 takes what the columns before it leave."""

    text: str
    width: int = 0
    style: str = ""


class Page:
    """Prints text that hangs beside its lead: as wide as the terminal, to 120 columns, else 80."""

    def __init__(self, console: Console) -> None:
        """Write to the console given."""
        self._console = console
        self._width = min(console.width, _WIDEST if console.is_terminal else _WITHOUT_TERMINAL)
        self._ascii_only = console.options.ascii_only

    def blank(self) -> None:
        """Print an empty line."""
        self._console.print()

    @property
    def width(self) -> int:
        """The columns of a line."""
        return self._width

    def paragraph(
        self, body: str, *, lead: str = "", lead_style: str = "", style: str = ""
    ) -> None:
        """Print the lead, and the body beside it: its further lines are indented as far."""
        start, indent = Text(self._shown(lead), lead_style), cell_len(lead)
        if self._width - indent < _LEAST_ROOM:
            self._print(start)
            start, indent = Text(" " * _BELOW), _BELOW
        for line in self._wrapped(body, self._width - indent):
            free = max(self._width - cell_len(line), 0)
            if (
                free < indent
            ):  # a path, which has a line of its own and begins as far left as need be
                if start.plain.strip():
                    self._print(start)
                start = Text(" " * free)
            self._print(Text.assemble(start, (line, style)))
            start = Text(" " * indent)

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
        if not command:
            return
        lead, continued = "next: ", " \\"
        room = self._width - len(lead) - len(continued)
        # A shell takes a line on where a backslash ends it, but not within quotes.
        lines = [self._shown(command)] if "'" in command else self._wrapped(command, room)
        self.blank()
        for number, line in enumerate(lines, start=1):
            whole = f"{line}{continued}" if number < len(lines) else line
            free = max(self._width - cell_len(whole), 0)
            start = lead if number == 1 else " " * min(len(lead), free)
            self._print(Text.assemble((start, "dim"), (whole, "bold")))

    def columns(self, *cells: Cell) -> None:
        """Print cells side by side, two spaces apart, each line of them wrapped to its width."""
        widths = self._widths([cell.width for cell in cells])
        wrapped = [
            [line for part in cell.text.split("\n") for line in self._wrapped(part, width)]
            for cell, width in zip(cells, widths, strict=True)
        ]
        for lines in zip_longest(*wrapped, fillvalue=""):
            row = Text()
            for line, cell, width in zip(lines, cells, widths, strict=True):
                row.append(line + " " * (width + _GAP - cell_len(line)), cell.style)
            self._print(row)

    def _widths(self, wanted: list[int]) -> list[int]:
        """Give the column without a width what is left; take what is too much from the widest."""
        free = self._width - sum(wanted) - _GAP * (len(wanted) - 1)
        widths = [width or max(free, _LEAST_ROOM) for width in wanted]
        while sum(widths) + _GAP * (len(widths) - 1) > self._width and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
        return widths

    def bar(self, share: float, label: Cell, figures: str) -> None:
        """Print a label, its figures, and a bar that fills a share (0 to 1) of the line's rest.

        The label's style is the bar's too. A narrow page wraps the label, and has no bar.
        """
        gap = " " * _GAP
        width = min(label.width, self._width - cell_len(figures) - 2 * _GAP)
        room = self._width - width - cell_len(figures) - 3 * _GAP
        bar = self._bar(share * room) if room >= _LEAST_BAR else ""
        first, *others = self._wrapped(label.text, width)
        padding = " " * (width - cell_len(first))
        self._print(
            Text.assemble(gap, first, padding, gap, figures, gap, (bar, label.style)),
        )
        for line in others:
            self._print(Text(f"{gap}{line}"))

    def _bar(self, length: float) -> str:
        if self._ascii_only:
            return "#" * round(length)
        return "█" * int(length) + _EIGHTHS[int(length % 1 * 8)].strip()

    def _wrapped(self, text: str, room: int) -> list[str]:
        """Break a text at its spaces; a word that is too long is folded, but a path stays whole."""
        lines: list[str] = []
        line: str | None = None
        for word in self._shown(text).split(" "):
            longer = word if line is None else f"{line} {word}"
            if cell_len(longer) <= room:
                line = longer
                continue
            lines += [line] if line is not None else []
            *folded, line = [word] if "/" in word else chop_cells(word, room) or [""]
            lines += folded
        return [*lines, line or ""]

    def _print(self, line: Text) -> None:
        line.rstrip()
        self._console.print(line, soft_wrap=True)

    def _shown(self, text: str) -> str:
        plain = "".join(c if c.isprintable() else "?" for c in text)
        encoding = self._console.encoding
        return plain.encode(encoding, errors="replace").decode(encoding)
