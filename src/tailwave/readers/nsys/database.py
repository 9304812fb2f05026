"""The SQLite database that nsys exports: opened for reading, asked table by table.

Tables and columns come and go with the schema's version and with what was recorded, so each
question names the columns that it wants, and gets -1 for the cells that there are not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

import numpy as np

from tailwave.errors import UnreadableInputError
from tailwave.model import Ints
from tailwave.readers.byte_source import refused

MAGIC: Final = b"SQLite format 3\x00"
# 3.0 came in 2022 (nsys 2022.4); those before it use the same names for what is read here.
NEWEST_MAJOR: Final = 3
# SQLite's own errors; damaged text in its messages and names; numbers that are out of range.
_FAULTS: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError)
_ROWS_AT_ONCE: Final = 50_000
_EXPORT: Final = "`nsys export --type sqlite REPORT.nsys-rep`"
_HINT: Final = f"export the report again ({_EXPORT})"


class Database:
    """An export of nsys, read only; close it after use."""

    def __init__(self, path: Path) -> None:
        """Open it; raises UnreadableInputError for what is no such export."""
        self.path = path
        _check_magic(path)
        # "immutable" spares SQLite its lock and journal files: a read-only folder will do.
        uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True)
            self._connection.text_factory = _readable
            self._tables = {
                str(name): self._columns_of(str(name))
                for (name,) in self._connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                )
            }
        except _FAULTS as error:
            raise self._damaged(error) from error
        self.version = self._version()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def has(self, table: str) -> bool:
        """Tell whether the export holds a table."""
        return table in self._tables

    def columns(self, table: str, wanted: Sequence[str], where: str = "") -> dict[str, Ints]:
        """Return columns of integers, equally long, in the table's own order.

        A column or cell that is not there, or holds no integer, is -1; a table that is not there
        has no rows. ``where`` is a condition on the table's own columns.
        """
        there = self._tables.get(table, frozenset())
        if not there:
            return {name: np.zeros(0, dtype=np.int64) for name in wanted}
        cells = ", ".join(_integer(name) if name in there else "-1" for name in wanted)
        condition = f" WHERE {where}" if where else ""
        blocks = self._blocks(f'SELECT {cells} FROM "{table}"{condition}')  # noqa: S608 - names of this file
        rows = np.concatenate([np.zeros((0, len(wanted)), dtype=np.int64), *blocks])
        return {name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(wanted)}

    def texts(self, table: str, key: str, text: str) -> dict[int, str]:
        """Return a table's texts by its key; empty where it lacks the table or a column."""
        if not {key, text} <= self._tables.get(table, frozenset()):
            return {}
        question = f'SELECT "{key}", "{text}" FROM "{table}"'  # noqa: S608 - names of this file
        return {k: str(t) for k, t in self._fetched(question) if isinstance(k, int)}

    def rows(self, table: str, wanted: Sequence[str]) -> list[tuple[object, ...]]:
        """Return a small table's rows as they are; None for columns that it lacks."""
        there = self._tables.get(table, frozenset())
        if not there:
            return []
        cells = ", ".join(f'"{name}"' if name in there else "NULL" for name in wanted)
        return self._fetched(f'SELECT {cells} FROM "{table}"')  # noqa: S608 - names of this file

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        if not self.has(table):
            return 0
        [(number,)] = self._fetched(f'SELECT COUNT(*) FROM "{table}"')  # noqa: S608 - as above
        return int(str(number))

    def _columns_of(self, table: str) -> frozenset[str]:
        quoted = table.replace('"', '""')
        rows = self._connection.execute(f'PRAGMA table_info("{quoted}")')
        return frozenset(str(row[1]) for row in rows)

    def _blocks(self, question: str) -> list[Ints]:
        blocks: list[Ints] = []
        try:
            with closing(self._connection.execute(question)) as cursor:
                while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                    blocks.append(np.array(rows, dtype=np.int64))
        except _FAULTS as error:
            raise self._damaged(error) from error
        return blocks

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
    raise UnreadableInputError(f"{path} is not an SQLite database: {_HINT}.")


def _integer(name: str) -> str:
    """Return the SQL for a column whose cells are integers, or -1."""
    return f'CASE WHEN typeof("{name}") = \'integer\' THEN "{name}" ELSE -1 END'


def _readable(text: bytes) -> str:
    """Return a text that can be printed and encoded, whatever bytes it is."""
    return text.decode(errors="replace")


def _told(error: Exception) -> str:
    """Return an error's words on one line."""
    return (
        "unreadable text" if isinstance(error, UnicodeDecodeError) else " ".join(str(error).split())
    )
