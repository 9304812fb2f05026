"""Saves and loads sessions: the one saved format, JSON with a schema number.

What is not known is null. The document is on one line, for it holds every sample and every map.
A file is a ``Session`` field by field. The number counts changes that an older reader could not
understand; a new field with a default is none. Each such change adds to ``_MIGRATIONS`` the
function that turns the document before it into the one after, so that old files stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import Session

# The function at index i turns a document of schema i + 1 into one of schema i + 2.
_MIGRATIONS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = ()
SCHEMA: Final = len(_MIGRATIONS) + 1
_HEAD_BYTES: Final = 1 << 16
_NUMBERED: Final = re.compile(rb'^\s*\{.*?"schema"\s*:\s*\d', re.DOTALL)


def save(session: Session, path: Path) -> None:
    """Write a session. Raises UsageError when the file cannot be written."""
    try:
        path.write_bytes(msgspec.json.encode(session) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error


def holds_session(path: Path) -> bool:
    """Tell whether a file looks like a session, by its beginning; False where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False
    return bool(_NUMBERED.search(head)) and b'"traceEvents"' not in head


def load(path: Path) -> Session:
    """Read a session of this schema or an older one.

    Raises UnreadableInputError when there is no such file, when it is no session, and when a newer
    tailwave wrote it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"cannot read {path}: {error.strerror}.") from error
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableInputError(f"{path} is no JSON document, so no session.") from error
    return _as_session(_migrated(document, path), path)


def _migrated(document: object, path: Path) -> dict[str, Any]:
    """Return a document in the form of the newest schema."""
    if not isinstance(document, dict) or not _is_number(document.get("schema")):
        raise UnreadableInputError(
            f"{path} is no session of tailwave: `tailwave check -o FILE` writes one."
        )
    schema = document["schema"]
    if schema > SCHEMA:
        raise UnreadableInputError(
            f"{path} has schema {schema}, newer than this tailwave reads ({SCHEMA}): "
            "update tailwave."
        )
    try:
        for migrate in _MIGRATIONS[schema - 1 :]:
            document = migrate(document)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableInputError(f"{path} is no session of schema {schema}.") from error
    return document


def _is_number(schema: object) -> bool:
    return isinstance(schema, int) and not isinstance(schema, bool) and schema >= 1


def _as_session(document: dict[str, Any], path: Path) -> Session:
    try:
        session = msgspec.convert({**document, "schema": SCHEMA}, Session)
    except msgspec.ValidationError as error:
        raise UnreadableInputError(f"{path} is no session of tailwave: {error}.") from error
    for table in session.tables:
        widths = [len(row) for row in table.values]
        if widths != [len(table.columns)] * len(table.rows):
            raise UnreadableInputError(
                f"{path} is damaged: its table {table.name} is no rectangle."
            )
    return session
