"""Saved sessions come back as they were, also those of an older tailwave."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tailwave.session
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import (
    Basis,
    Criterion,
    DeviceFacts,
    Health,
    Measurement,
    Session,
    Status,
    Table,
    Verdict,
)
from tailwave.session import SCHEMA, load, save
from tests.measured import session
from tests.places import DATA

SESSIONS = DATA / "sessions"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | FLOATS
MEASUREMENTS = st.builds(
    Measurement,
    name=TEXTS,
    status=st.sampled_from(Status),
    unit=TEXTS,
    value=MAYBE,
    low=MAYBE,
    high=MAYBE,
    samples=st.lists(FLOATS, max_size=3).map(tuple),
    parameters=st.dictionaries(TEXTS, FLOATS | st.integers(-(2**53), 2**53) | TEXTS, max_size=2),
    headline=st.booleans(),
    simulated=st.booleans(),
    reason=TEXTS,
)
TABLES = st.builds(
    Table,
    name=TEXTS,
    unit=TEXTS,
    rows=st.just(("a", "b")),
    columns=st.just(("c",)),
    values=st.tuples(st.tuples(MAYBE), st.tuples(MAYBE)),
)
CRITERIA = st.builds(
    Criterion,
    what=TEXTS,
    basis=st.sampled_from(Basis),
    health=st.sampled_from(Health),
    value=MAYBE,
    least=MAYBE,
)
VERDICTS = st.builds(
    Verdict,
    link=TEXTS,
    health=st.sampled_from(Health),
    claim=TEXTS,
    meaning=TEXTS,
    criteria=st.lists(CRITERIA, max_size=2).map(tuple),
)
WHOLE = st.builds(
    Session,
    schema=st.just(SCHEMA),
    tool_version=TEXTS,
    command=TEXTS,
    started=TEXTS,
    seconds=FLOATS,
    device=st.none() | st.builds(DeviceFacts, name=TEXTS, backend=TEXTS, simulated=st.booleans()),
    measurements=st.lists(MEASUREMENTS, max_size=3).map(tuple),
    tables=st.lists(TABLES, max_size=2).map(tuple),
    verdicts=st.lists(VERDICTS, max_size=2).map(tuple),
    health=st.sampled_from(Health),
    cut_short=TEXTS,
    notes=st.lists(TEXTS, max_size=2).map(tuple),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WHOLE)
def test_a_session_comes_back_as_it_was(tmp_path: Path, whole: Session) -> None:
    """Whatever a session holds, loading what was saved gives it back."""
    path = tmp_path / "session.json"
    save(whole, path)
    assert load(path) == whole


def test_what_is_no_number_is_saved_as_unknown(tmp_path: Path) -> None:
    """A cell that was not measured is null in the file and None when it is loaded."""
    path = tmp_path / "session.json"
    save(session(Table("t", "clk", ("0",), ("a",), ((math.nan,),))), path)
    assert load(path).tables[0].values == ((None,),)


def test_version_1_is_read() -> None:
    """A session of schema 1, saved by tailwave 0.1.0, is read whole."""
    old = load(SESSIONS / "v1.json")
    assert old.schema == SCHEMA
    assert old.device is not None
    assert old.device.name == "NVIDIA H200 (simulated)"
    assert len(old.verdicts) == 7
    assert {table.name for table in old.tables} >= {"topology.map", "l2.latency"}


def test_an_old_document_is_migrated_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document goes through each migration from its own schema on, in order."""

    def first(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "command": document.pop("verb")}

    def second(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "notes": [f"{document['command']} migrated"]}

    monkeypatch.setattr(tailwave.session, "_MIGRATIONS", (first, second))
    monkeypatch.setattr(tailwave.session, "SCHEMA", 3)
    document = msgspec.to_builtins(session())
    document["verb"] = document.pop("command")
    path = tmp_path / "old.json"
    path.write_bytes(msgspec.json.encode(document))
    migrated = load(path)
    assert (migrated.schema, migrated.command, migrated.notes) == (3, "check", ("check migrated",))


def test_a_document_that_does_not_migrate_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that lacks what its schema has is refused in one sentence."""

    def migrate(document: dict[str, Any]) -> dict[str, Any]:
        return {"command": document["verb"]}

    monkeypatch.setattr(tailwave.session, "_MIGRATIONS", (migrate,))
    monkeypatch.setattr(tailwave.session, "SCHEMA", 2)
    path = tmp_path / "old.json"
    path.write_text('{"schema": 1}')
    with pytest.raises(UnreadableInputError, match="is no session of schema 1"):
        load(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is no JSON document"),
        (b"\xff\xfe", "is no JSON document"),
        (b"[" * 100_000, "is no JSON document"),
        (b"[]", "is no session of tailwave: `tailwave check -o FILE` writes one"),
        (b'{"traceEvents": []}', "is no session of tailwave"),
        (b'{"schema": true}', "is no session of tailwave"),
        (b'{"schema": 0}', "is no session of tailwave"),
        (b'{"schema": "1"}', "is no session of tailwave"),
        (b'{"schema": 99}', "has schema 99, newer than this tailwave reads"),
        (b'{"schema": 1}', "is no session of tailwave: Object missing required field"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    """What is no session is unreadable input, and the sentence names the file."""
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableInputError, match=rf"bad\.json {sentence}"):
        load(path)


@pytest.mark.parametrize("values", [(), ((1.0,),), ((1.0, 2.0), (3.0,))])
def test_a_table_with_holes_is_refused(
    tmp_path: Path, values: tuple[tuple[float, ...], ...]
) -> None:
    """A table has a cell for each row and column, or the file is damaged."""
    path = tmp_path / "damaged.json"
    save(session(Table("l2.latency", "clk", ("0", "1"), ("a",), values)), path)
    with pytest.raises(UnreadableInputError, match=r"damaged\.json is damaged: its table l2"):
        load(path)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    """A file that is not there is unreadable input."""
    with pytest.raises(UnreadableInputError, match=r"cannot read .*none\.json: No such file"):
        load(tmp_path / "none.json")


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    """Saving where nothing can be written says so."""
    with pytest.raises(UsageError, match="cannot write"):
        save(session(), tmp_path / "none" / "session.json")
