"""The tables in what ``ncu --csv`` wrote: headers and rows, out of the messages around them."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass, field

_ID = re.compile(r"[0-9]+")
_ROW_STARTS = re.compile(r'"|[0-9]')
# A spreadsheet saves with semicolons where the comma begins decimals, or with tabs.
_HEADER = re.compile(r'"?(?:ID|Process ID)"?([,;\t])')
_MESSAGE = re.compile(r"==(ERROR|WARNING|PROF)== *(.*)")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),  # what Windows PowerShell's > writes
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MOST_LINES = 64  # of one row: some rules' messages have line breaks


@dataclass
class PageTable:
    """One header and the rows below it; ``units`` is empty where the table has no such row."""

    header: list[str]
    separator: str = ","
    units: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @property
    def is_long(self) -> bool:
        """Tell the details page, a row a metric, from the raw page, a row a launch."""
        return "Metric Name" in self.header

    @property
    def fewest(self) -> int:
        """How many fields a row has at least; ncu leaves out empty ones at a row's end."""
        if self.is_long:
            return self.header.index("Metric Name") + 1
        return len(self.header)


@dataclass
class CsvPage:
    """All tables of a file, its messages by kind, and what was lost.

    ``cut`` tells that the file ends in mid-row; ``damaged`` counts rows too short inside it.
    """

    tables: list[PageTable] = field(default_factory=list)
    messages: dict[str, list[str]] = field(default_factory=dict)
    cut: bool = False
    damaged: int = 0


def decoded(data: bytes) -> str:
    """Decode text in whichever encoding it is; what is no text in it becomes a question mark."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        # A file cut within a letter is UTF-8 all the same; anything else is an old Windows page.
        is_cut = error.reason == "unexpected end of data"
        return data.decode("utf-8" if is_cut else "cp1252", errors="replace")


def page_of(text: str) -> CsvPage:
    """Find the tables in a file's text."""
    page = CsvPage()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    unended = lines.pop()  # "" where the last line has its end
    at = 0
    while at < len(lines):
        row, at = _row(lines, at)
        _add(page, row, whole=True)
    if unended:
        _add(page, unended, whole=False)
    return page


def _row(lines: list[str], at: int) -> tuple[str, int]:
    """Return the row that begins at a line, over line breaks between quotes, and the next line."""
    row = lines[at]
    if not row.startswith('"') or row.count('"') % 2 == 0:
        return row, at + 1
    for more in range(at + 1, min(at + MOST_LINES, len(lines))):
        if re.match(r'"[0-9]+"[,;\t]"|==', lines[more]):
            break  # the quote was lost, not the line
        row += "\n" + lines[more]
        if row.count('"') % 2 == 0:
            return row, more + 1
    return lines[at], at + 1


def _add(page: CsvPage, line: str, *, whole: bool) -> None:
    """Put a line where it belongs; one that is not ``whole`` lacks its end, or just its break."""
    if message := _MESSAGE.match(line):
        page.messages.setdefault(message[1], []).append(message[2].strip())
        return
    header = _HEADER.match(line)
    separator = header[1] if header else page.tables[-1].separator if page.tables else ","
    fields = _fields(line, separator)
    if header and fields is not None and "Kernel Name" in fields:
        page.tables.append(PageTable(fields, separator))
    elif page.tables:
        _add_row(page, fields, line, whole=whole)
    elif not whole and header:
        page.cut = True


def _add_row(page: CsvPage, fields: list[str] | None, line: str, *, whole: bool) -> None:
    table = page.tables[-1]
    if not whole and (fields is None or len(fields) < len(table.header) or line[-1] != '"'):
        page.cut = page.cut or _ROW_STARTS.match(line) is not None
    elif fields is None:
        page.damaged += line.startswith('"')
    elif _ID.fullmatch(fields[0]):
        if table.fewest <= len(fields):
            table.rows.append(fields)
        else:
            page.damaged += 1
    elif _are_units(table, fields):
        table.units = fields


def _are_units(table: PageTable, fields: list[str]) -> bool:
    wanted = not table.is_long and not table.rows and not table.units
    return wanted and len(fields) == len(table.header) and not fields[0]


def _fields(line: str, separator: str) -> list[str] | None:
    """Split a line at its separators; None for one that is not CSV."""
    if line.count('"') % 2:
        return None
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return None
    return [text.strip() for text in rows[0]] if rows and rows[0] else None
