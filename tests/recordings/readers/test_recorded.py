"""tailwave's own recordings: read back as they were written, refused where damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from tailwave.cli import run
from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.recordings.readers import read, recorded
from tests.builders import Trace, copy, kernel, memset

BEGIN = len(recorded.MAGIC) + 8


def timeline(rank: int = 0) -> Timeline:
    """Return a small timeline with some of everything."""
    trace = Trace()
    for step in range(4):
        at = 100.0 * step
        trace.step(at, at + 100)
        trace.launch(at + 10, at + 15, kernel("gemm", at + 18, at + 30, grid=7))
        trace.launch(at + 20, at + 25, copy("Memcpy HtoD", at + 32, at + 40, size=1 << 33))
        trace.launch(at + 40, at + 45, memset(at + 46, at + 47))
    return replace(trace.build(), kind="record", rank=rank, notes=("a note",), path="")


def written(path: Path, *timelines: Timeline) -> Path:
    """Write a recording."""
    recorded.write_timelines(path, timelines or (timeline(),), "1.2.3")
    return path


def same(one: Timeline, other: Timeline) -> bool:
    """Tell whether two timelines are the same but for where they lie."""
    for table in ("host", "gpu", "waits"):
        mine, theirs = asdict(getattr(one, table)), asdict(getattr(other, table))
        for field, column in mine.items():
            if column.dtype != theirs[field].dtype or not np.array_equal(column, theirs[field]):
                return False
    rest = ("names", "threads", "devices", "rank", "world_size", "events", "notes", "kind")
    return all(getattr(one, field) == getattr(other, field) for field in rest)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Each process, with all its columns, in order."""
    processes = timeline(0), timeline(1)
    found = read(written(tmp_path / "r.tailwave", *processes))
    assert len(found) == 2
    assert all(same(one, other) for one, other in zip(processes, found, strict=True))
    assert found[0].path == str(tmp_path / "r.tailwave")


def test_it_is_known_by_its_content(tmp_path: Path) -> None:
    """Whatever the file is called."""
    (found,) = read(written(tmp_path / "some.json"))
    assert same(timeline(), found)


def test_it_is_found_in_a_folder(tmp_path: Path) -> None:
    """A folder of recordings holds the ranks of one run."""
    written(tmp_path / "a.tailwave", timeline(1))
    written(tmp_path / "b.tailwave", timeline(0))
    assert [one.rank for one in read(tmp_path)] == [0, 1]


def test_the_commands_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``diagnose`` and ``whatif`` take it for a recording as any."""
    path = written(tmp_path / "r.tailwave")
    assert run(["diagnose", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["source"]["kind"] == "record"
    assert run(["whatif", "--graph", "--json", str(path)]) == 0


@given(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1)),
    st.sampled_from([np.int64, np.int32, np.uint8]),
)
def test_any_column_survives(values: list[int], form: type[np.int64]) -> None:
    """Differences may overflow: they come back all the same."""
    column = np.array(values, dtype=np.int64).astype(form)
    packed = recorded._pack(column)  # noqa: SLF001 - the property is that of this pair
    told = recorded._Packed(column.dtype.str[1:], len(column), len(packed))  # noqa: SLF001
    found = recorded._unpack(packed, told)  # noqa: SLF001
    assert found.dtype == column.dtype
    assert np.array_equal(found, column)


def header(data: bytes, change: Callable[[dict[str, object]], object]) -> bytes:
    """Return a file whose header was changed."""
    end = BEGIN + int.from_bytes(data[len(recorded.MAGIC) : BEGIN], "little")
    document = json.loads(data[BEGIN:end])
    change(document)
    text = json.dumps(document).encode()
    return recorded.MAGIC + len(text).to_bytes(8, "little") + text + data[end:]


def of(document: dict[str, object], *path: str | int) -> dict[str, object]:
    """Return what lies at a path in a document."""
    found: object = document
    for key in path:
        found = found[key]  # type: ignore[index]
    return found  # type: ignore[return-value]


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in the length": (lambda d: d[: len(recorded.MAGIC) + 3], "ends early"),
    "cut in the header": (lambda d: d[:200], "ends early"),
    "cut in the columns": (lambda d: d[:-5], "ends early"),
    "header no JSON": (lambda d: d[:BEGIN] + b"?" + d[BEGIN + 1 :], "damaged"),
    "columns overwritten": (lambda d: d[:-60] + b"\0" * 60, "damaged"),
    "no process": (lambda d: header(d, lambda h: h.update(processes=[])), "holds no process"),
    "another type": (
        lambda d: header(d, lambda h: of(h, "processes", 0, "gpu", "start").update(type="f8")),
        "a column of type 'f8'",
    ),
    "too many rows": (
        lambda d: header(d, lambda h: of(h, "processes", 0, "gpu", "start").update(rows=1 << 50)),
        "impossible length",
    ),
    "one row more": (
        lambda d: header(d, lambda h: of(h, "processes", 0, "gpu", "start").update(rows=13)),
        "another length",
    ),
    "a column less": (
        lambda d: header(d, lambda h: of(h, "processes", 0, "waits").pop("end")),
        "other columns",
    ),
    "names missing": (
        lambda d: header(d, lambda h: of(h, "processes", 0).update(names=[])),
        "leads nowhere",
    ),
    "no end of a column": (
        lambda d: header(
            d, lambda h: of(h, "processes", 0, "waits", "record_correlation").update(bytes=4)
        ),
        "another length",
    ),
    "newer": (
        lambda d: header(d, lambda h: h.update(schema=99, tool_version="9.9", processes=0)),
        "recorded by tailwave 9.9, whose format is newer than this one reads: update tailwave.",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_one_sentence_and_exit_65(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[bytes], bytes],
    words: str,
) -> None:
    """It names the file and what is wrong with it."""
    path = written(tmp_path / "r.tailwave")
    path.write_bytes(damage(path.read_bytes()))
    assert run(["diagnose", str(path)]) == 65
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line
    assert words in line


def test_a_launch_that_leads_nowhere_is_damage(tmp_path: Path) -> None:
    """What reads the launch of a kernel must find a row there."""
    whole = timeline()
    for launch in (len(whole.host), -2):
        gpu = replace(whole.gpu, launch=np.full_like(whole.gpu.launch, launch))
        path = written(tmp_path / "r.tailwave", replace(whole, gpu=gpu))
        with pytest.raises(UnreadableInputError, match="leads nowhere"):
            read(path)


def test_damage_anywhere_is_no_traceback(tmp_path: Path) -> None:
    """A byte changed anywhere gives a timeline or one sentence."""
    path = written(tmp_path / "r.tailwave")
    whole = path.read_bytes()
    chance = random.Random(0)  # noqa: S311 - the same damage each time
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(data))
        try:
            read(path)
        except UnreadableInputError:
            refused += 1
    assert refused > 200


def test_a_file_of_that_name_and_other_content_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name promises what it does not hold."""
    path = tmp_path / "r.tailwave"
    path.write_text("{}", "utf-8")
    assert run(["diagnose", str(path)]) == 65
    assert "is no recording: give a file that `tailwave record` made" in capsys.readouterr().err


def test_a_write_that_fails_leaves_the_file_before(tmp_path: Path) -> None:
    """The new one takes the name when it is whole."""
    path = written(tmp_path / "r.tailwave")
    before = path.read_bytes()
    (tmp_path / ".r.tailwave.part").mkdir()
    with pytest.raises(OSError, match="part"):
        written(path)
    assert path.read_bytes() == before
