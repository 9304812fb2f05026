"""Bad input through the command line: an analysis with a note, or one sentence and exit 65."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailwave.cli import run
from tailwave.errors import UNREADABLE, UnreadableInputError
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import kineto
from tests.places import TRACES
from tests.recordings.readers import naive_kineto as naive
from tests.recordings.readers.sample import EVENTS, Event, complete, trace, write

TEXT = json.dumps(trace(EVENTS), indent=1).encode()
NO_GPU = json.dumps(trace([complete("cpu_op", "a", 1, 1)])).encode()


REFUSED = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \t", "is empty"),
    "text": (b"not a trace", "neither a JSON object nor a list"),
    "JSON text": (b'"traceEvents"', "neither a JSON object nor a list"),
    "no events": (b"{}", "without a list of events"),
    "events null": (b'{"traceEvents": null}', "without a list of events"),
    "events an object": (b'{"traceEvents": {"ph": "X"}}', "without a list of events"),
    "events a text": (b'{"traceEvents": "[{}]"}', "without a list of events"),
    "cut before events": (TEXT[:12], "ends early"),
    "cut in the first event": (TEXT[:60], "ends in mid-event"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip header alone": (gzip.compress(TEXT)[:10], "ends early"),
    "ZIP": (b"PK\x03\x04", "a ZIP archive"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_unreadable_input_is_one_sentence_and_exit_65(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, words: str
) -> None:
    """Nothing goes to stdout; stderr holds one line that names the file and what it lacks."""
    path = write(tmp_path / "some.json", data)
    assert run(["diagnose", "--json", str(path)]) == UNREADABLE
    out, err = capsys.readouterr()
    assert out == ""
    [line] = err.splitlines()
    assert line.startswith("tailwave: ")
    assert str(path) in line
    assert words in line


def test_a_recording_without_gpu_work_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page says what to record, and the exit code that nothing was concluded."""
    path = write(tmp_path / "t.json", NO_GPU)
    assert run(["diagnose", "--json", str(path)]) == UNREADABLE
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert any("holds no GPU activity" in note for note in document["notes"])


def test_a_cut_recording_is_analysed_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was written before the recorder died is worth its analysis."""
    text = gzip.decompress((TRACES / "decode_small.eager.json.gz").read_bytes())
    path = write(tmp_path / "t.json", text[: len(text) * 3 // 4])
    assert run(["diagnose", "--json", str(path)]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any(re.match(r"The file ends in mid-event; the \d+ events", note) for note in notes)


def test_a_name_that_is_no_text_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a surrogate pair in the names of an event, a thread and a device breaks no output."""
    half = "\ud800"
    events: list[Event] = [
        {"ph": "M", "name": "thread_name", "pid": 100, "tid": 7, "args": {"name": half}},
        *(event | {"name": half + event["name"]} for event in EVENTS),
    ]
    document = trace(events, deviceProperties=[{"id": 0, "name": half, "numSms": 4}])
    path = write(tmp_path / "t.json", document)
    for options in (["--json"], []):
        assert run(["diagnose", *options, str(path)]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("cut_at_end", [False, True])
def test_every_boundary_between_two_blocks_is_sound(tmp_path: Path, *, cut_at_end: bool) -> None:
    """Blocks of any size give the rows of one block, in a sound file and in a cut one."""
    path = write(tmp_path / "t.json", TEXT[:-120] if cut_at_end else TEXT)
    whole = kineto.read_trace(path)
    expected = naive.rows_of(whole), whole.events, whole.notes
    for size in range(1, len(TEXT) + 2, 7):
        blocks = kineto.read_trace(path, block_bytes=size)
        assert (naive.rows_of(blocks), blocks.events, blocks.notes) == expected


def test_a_file_may_end_anywhere(tmp_path: Path) -> None:
    """Of a file cut at any byte, each event that is whole is read."""
    ends = [match.end() for match in re.finditer(rb"\n  }(?=,?\n)", TEXT)]
    assert len(ends) == len(EVENTS)
    for size in range(ends[1], len(TEXT), 3):
        timeline = kineto.read_trace(write(tmp_path / "t.json", TEXT[:size]))
        assert timeline.events == sum(end <= size for end in ends)


@pytest.mark.parametrize("block", [64, 1 << 20])
def test_a_quote_too_few_ends_the_reading_there(tmp_path: Path, block: int) -> None:
    """After a name that does not end brackets make no sense: what is before it is read."""
    events = [complete("cpu_op", f"op{n}", n, 1) for n in range(2_000)]
    text = json.dumps(trace(events)).encode().replace(b'"op7"', b'"op7')
    timeline = kineto.read_trace(write(tmp_path / "t.json", text), block_bytes=block)
    assert timeline.events == 7
    assert timeline.notes[-1].endswith("; the 7 events before that were read.")


VALUES: list[Any] = [
    *(None, True, -1, 0, 1.5, 1e30, 1e300, 2**31, 2**63, 2**70, -(2**70)),
    *(float("nan"), float("inf"), "x", "12", "\ud800", [], [[]], {}, {"a": 1}),
]
FIELDS = ("ts", "dur", "cat", "name", "pid", "tid", "ph", "args")
ARGUMENTS = (
    *("correlation", "stream", "device", "grid", "block", "bytes"),
    *("registers per thread", "shared memory", "graph node id"),
)
PROPERTIES = ("id", "numSms", "regsPerMultiprocessor", "maxThreadsPerMultiprocessor", "warpSize")


def swap_fields(events: list[Event], chance: random.Random) -> None:
    """Give fields of some events values of other types and sizes."""
    for event in chance.sample(events, 30):
        event[chance.choice(FIELDS)] = chance.choice(VALUES)


def swap_arguments(events: list[Event], chance: random.Random) -> None:
    """Give arguments of many events values of other types and sizes."""
    for event in chance.sample(events, len(events) // 2):
        event["args"] = event.get("args", {}) | {chance.choice(ARGUMENTS): chance.choice(VALUES)}


def move_times(events: list[Event], chance: random.Random) -> None:
    """Send some events to other times, and stretch others."""
    for event in chance.sample(events, 30):
        at = event["ts"]
        times = (0, at * chance.random(), at + 1e6, at - 1e6, 1e11)
        event[chance.choice(("ts", "dur"))] = chance.choice(times)


def thin_out(events: list[Event], chance: random.Random) -> None:
    """Keep a few events, in any order."""
    events[:] = chance.sample(events, chance.choice((1, 5, 100)))


def repeat(events: list[Event], chance: random.Random) -> None:
    """Write a slice of the events twice."""
    begin = chance.randrange(len(events))
    events += events[begin : begin + 300]


@pytest.mark.parametrize("damage", [swap_fields, swap_arguments, move_times, thin_out, repeat])
@pytest.mark.parametrize("name", ["waves.grid_133", "decode_small.graph", "h2d.pinned_overlap"])
@pytest.mark.parametrize("seed", range(4))
def test_a_recording_with_damaged_events_is_diagnosed_or_refused(
    tmp_path: Path, damage: Callable[[list[Event], random.Random], None], name: str, seed: int
) -> None:
    """Whatever the values of events, arguments and properties, there is an answer."""
    document = naive.load(TRACES / f"{name}.json.gz")
    document = json.loads(json.dumps(document, default=float))
    chance = random.Random(f"{damage.__name__} {name} {seed}")  # noqa: S311 - no secret
    damage(document["traceEvents"], chance)
    if seed % 2:
        properties = {key: chance.choice(VALUES) for key in PROPERTIES}
        document["deviceProperties"] = chance.choice([None, {}, [1], [properties]])
    path = write(tmp_path / "t.json", document)
    try:
        timelines = [kineto.read_trace(path)]
    except UnreadableInputError as error:
        assert str(path) in str(error)  # noqa: PT017 - either outcome is one
    else:
        assert diagnose(timelines, str(path)).source.events == timelines[0].events
