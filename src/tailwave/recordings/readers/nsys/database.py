"""The SQLite database that nsys exports: opened for reading, asked table by table.

Tables and columns come and go with the schema's version and with what was recorded, so each
question names the columns that it wants, and gets -1 for the cells that there are not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import numpy as np

from tailwave.errors import UnreadableInputError
from tailwave.files import refused
from tailwave.model import Ints

MAGIC: Final = b"SQLite format 3\x00"
_GZIP: Final = b"\x1f\x8b"
# 3.0 came in 2022 (nsys 2022.4); those before it use the same names for what is read here.
NEWEST_MAJOR: Final = 3
# SQLite's own errors, and damaged text in its messages and names.
_FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)
# What numpy says to a cell that is no integer, and to one that does not fit.
_NO_INTEGERS: Final = (TypeError, ValueError, OverflowError)
_ROWS_AT_ONCE: Final = 50_000
_EXPORT: Final = "`nsys export --type sqlite REPORT.nsys-rep`"
_HINT: Final = f"export the report again ({_EXPORT})"
# What SQLite keeps beside a database that was not closed, and without which it is not whole.
_BESIDE: Final = ("-wal", "-journal")


class Cell(NamedTuple):
    """What one asks of a row: a column, or what SQL makes of several (" * ", " + ", ", ")."""

    columns: tuple[str, ...]
    joined_by: str = ""

    def sql(self, there: frozenset[str]) -> str:
        """Return the SQL for it, "" where the table lacks what it takes."""
        known = [f'"{column}"' for column in self.columns if column in there]
        if self.joined_by == ", ":
            return f"COALESCE({', '.join(known)}, -1)" if known else ""
        return self.joined_by.join(known) if len(known) == len(self.columns) else ""


def product(*columns: str) -> Cell:
    """Ask for the product of columns."""
    return Cell(columns, " * ")


def total(*columns: str) -> Cell:
    """Ask for the sum of columns."""
    return Cell(columns, " + ")


def first(*columns: str) -> Cell:
    """Ask for the first of several columns that the table has, and that is not empty."""
    return Cell(columns, ", ")


class Database:
    """An export of nsys, read only; close it after use.

    ``fetched`` is called with the number of rows of each piece of a long table that was read.
    """

    def __init__(self, path: Path) -> None:
        """Open it; raises UnreadableInputError for what is no such export."""
        self.path = path
        self.fetched: Callable[[int], None] = lambda _: None
        _check_magic(path)
        _check_whole(path)
        # "immutable" spares SQLite its lock and journal files: a read-only folder will do.
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True)
            self._connection.text_factory = _readable
            self._tables = {
                str(name): self._columns_of(str(name), str(kind))
                for name, kind in self._connection.execute(
                    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
                )
            }
        except _FAULTS as error:
            raise self._damaged(error) from error
        self.version = self._version()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def tables(self) -> frozenset[str]:
        """Return the names of the tables and views."""
        return frozenset(self._tables)

    def has(self, table: str) -> bool:
        """Tell whether the export holds a table."""
        return table in self._tables

    def columns(
        self,
        table: str,
        wanted: Sequence[str] | Mapping[str, Cell],
        coded: tuple[str, Callable[[object], int]] | None = None,
    ) -> dict[str, Ints]:
        """Return columns of integers, equally long, in the table's own order.

        A column or cell that is not there, or holds no integer, is -1; a table that is not there
        has no rows. ``coded`` is one more column, of text, and what gives each text its number.
        """
        cells = wanted if isinstance(wanted, Mapping) else {name: Cell((name,)) for name in wanted}
        text, code = coded or ("", _uncoded)
        fields = (*cells, *([text] if coded else []))
        pieces: list[list[Ints]] = [[] for _ in fields]
        there = self._tables.get(table, frozenset())
        if there:
            asked = [cell.sql(there) for cell in cells.values()]
            last = [f'"{text}"' if text in there else "NULL"] if coded else []
            for block in self._blocks(table, asked, last, code):
                for kept, column in zip(pieces, block.T, strict=True):
                    kept.append(np.ascontiguousarray(column))
        return {field: _joined(kept) for field, kept in zip(fields, pieces, strict=True)}

    def texts(self, table: str, key: str, text: str) -> dict[int, str]:
        """Return a table's texts by its key; empty where it lacks the table or a column."""
        rows = self.rows(table, (key, text))
        return {k: str(t) for k, t in rows if isinstance(k, int) and t is not None}

    def rows(self, table: str, wanted: Sequence[str]) -> list[tuple[object, ...]]:
        """Return a small table's rows as they are; None for columns that it lacks."""
        there = self._tables.get(table, frozenset())
        if not there:
            return []
        cells = ", ".join(f'"{name}"' if name in there else "NULL" for name in wanted)
        return self._fetched(f'SELECT {cells} FROM "{table}"')  # noqa: S608 - names of this file

    def asked(self, table: str, needed: Sequence[str], question: str) -> list[tuple[object, ...]]:
        """Return the few rows that answer a question; none where a column for it is missing."""
        if not set(needed) <= self._tables.get(table, frozenset()):
            return []
        return self._fetched(question)

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        if not self.has(table):
            return 0
        [(number,)] = self._fetched(f'SELECT COUNT(*) FROM "{table}"')  # noqa: S608 - as above
        return int(str(number))

    def _columns_of(self, table: str, kind: str) -> frozenset[str]:
        quoted = table.replace('"', '""')
        try:
            rows = self._connection.execute(f'PRAGMA table_info("{quoted}")').fetchall()
        except sqlite3.OperationalError:
            # A view that somebody added, of what is not there.
            if kind == "view":
                return frozenset()
            raise
        return frozenset(str(row[1]) for row in rows)

    def _blocks(
        self, table: str, cells: list[str], last: list[str], code: Callable[[object], int]
    ) -> Iterator[Ints]:
        """Yield a table in blocks of rows, quickly where all cells are integers or empty."""
        yielded = 0
        try:
            for block in self._asked(
                table, [f"IFNULL({cell}, -1)" if cell else "-1" for cell in cells], last, code
            ):
                yielded += len(block)
                yield block
                self.fetched(len(block))
        except _NO_INTEGERS:
            # Some cell is no integer: ask again, more slowly, for what follows.
            careful = [_if_integer(cell) for cell in cells]
            for block in self._asked(table, careful, last, code, skipping=yielded):
                yield block
                self.fetched(len(block))

    def _asked(
        self,
        table: str,
        cells: list[str],
        last: list[str],
        code: Callable[[object], int],
        skipping: int = 0,
    ) -> Iterator[Ints]:
        question = f'SELECT {", ".join((*cells, *last))} FROM "{table}" LIMIT -1 OFFSET {skipping}'  # noqa: S608 - names of this package
        width = len(cells) + len(last)
        try:
            with closing(self._connection.execute(question)) as cursor:
                while True:
                    rows: Iterable[tuple[object, ...]] = islice(cursor, _ROWS_AT_ONCE)
                    if last:
                        rows = ((*row[:-1], code(row[-1])) for row in rows)
                    block = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
                    if len(block) == 0:
                        return
                    yield block.reshape(-1, width)
        except _FAULTS as error:
            raise self._damaged(error) from error

    def _fetched(self, question: str) -> list[tuple[object, ...]]:
        try:
            return self._connection.execute(question).fetchall()
        except _FAULTS as error:
            raise self._damaged(error) from error

    def _version(self) -> str:
        """Return the schema's version; refuse one that came after those known."""
        about = {row[0]: row[1] for row in self.rows("META_DATA_EXPORT", ("name", "value"))}
        version = str(about.get("EXPORT_SCHEMA_VERSION", ""))
        major = version.partition(".")[0]
        if major.isdigit() and int(major) > NEWEST_MAJOR:
            self.close()
            raise UnreadableInputError(
                f"{self.path} is an export of nsys in schema {version}, and this tailwave reads "
                f"up to {NEWEST_MAJOR}: update tailwave, or export with an older nsys."
            )
        return version

    def _damaged(self, error: Exception) -> UnreadableInputError:
        return UnreadableInputError(f"{self.path} is a damaged database ({_told(error)}): {_HINT}.")


def _check_magic(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise refused(path, error) from error
    if magic == MAGIC:
        return
    if path.suffix.lower() in {".nsys-rep", ".qdrep"}:
        raise UnreadableInputError(
            f"{path} is a report that only nsys reads: run `nsys export --type sqlite {path}` "
            "and give the .sqlite file that it writes."
        )
    if magic.startswith(_GZIP):
        raise UnreadableInputError(f"{path} is compressed: run `gunzip {path}` first.")
    raise UnreadableInputError(f"{path} is not an SQLite database: {_HINT}.")


def _check_whole(path: Path) -> None:
    for end in _BESIDE:
        beside = path.with_name(path.name + end)
        try:
            pending = beside.stat().st_size > 0
        except OSError:
            pending = False
        if pending:
            raise UnreadableInputError(
                f"{path} is not whole without {beside.name} beside it: close the program that "
                f"has it open, or {_HINT}."
            )


def _uncoded(_: object) -> int:
    return -1


def _joined(pieces: list[Ints]) -> Ints:
    """Join the pieces of a column, giving back their memory."""
    whole = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
    pieces.clear()
    return whole


def _if_integer(cell: str) -> str:
    """Return the SQL for a cell if it is an integer, or -1."""
    return f"CASE WHEN typeof({cell}) = 'integer' THEN {cell} ELSE -1 END" if cell else "-1"


def _readable(text: bytes) -> str:
    """Return a text that can be printed and encoded, whatever bytes it is."""
    return text.decode(errors="replace")


def _told(error: Exception) -> str:
    """Return an error's words on one line."""
    return (
        "unreadable text" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())
    )
