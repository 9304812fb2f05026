"""The Kineto reader on events that are odd or bad, and on files that are cut or damaged."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.recordings.readers import kineto
from tailwave.recordings.readers.json_stream import BLOCK_BYTES
from tests.recordings.readers import naive_kineto as naive
from tests.recordings.readers.sample import EVENTS, TINY, Event, complete, trace, write


def read(path: Path, events: list[Event], block: int = BLOCK_BYTES) -> Timeline:
    """Write events as a trace and read it back."""
    return kineto.read_trace(write(path / "t.json", trace(events)), block_bytes=block)


def bad(**changes: Any) -> bytes:  # noqa: ANN401 - any JSON, or a type that is turned to text
    """Write one event of an operator with changes."""
    return json.dumps(complete("cpu_op", "bad", 5, 1) | changes).encode()


BAD_EVENTS = {
    b'{"ph": "X", "name": "bad", "cat": "cpu_op", "ts": 5}': "duration missing or not a number",
    bad(dur=float("nan")): "duration missing or not a number",
    bad(dur=float("inf")): "duration missing or not a number",
    bad(dur="soon"): "duration missing or not a number",
    bad(dur=None): "duration missing or not a number",
    bad(dur=True): "duration missing or not a number",
    bad(dur=-1): "negative duration",
    bad(dur=2**63): "enormous time or duration",
    bad(dur=2e12): "enormous time or duration",
    bad(ts=1e300): "enormous time or duration",
    bad(ts=-(10**18)): "enormous time or duration",
    bad(ts=[1]): "start missing or not a number",
    bad(ts="1e999"): "enormous time or duration",
    bad(name=7): "name missing or not a string",
    b'{"ph": "X", "name": "bad", "dur": }': "not JSON",
    b'{"ph": "X" "name": "bad"}': "not JSON",
    b'{"name": "bad"}': "not an event, or of no phase (ph)",
    b"17": "not an event, or of no phase (ph)",
}


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize(("raw", "reason"), BAD_EVENTS.items(), ids=range(len(BAD_EVENTS)))
def test_a_bad_event_is_left_out_and_counted(
    tmp_path: Path, raw: bytes, reason: str, block: int
) -> None:
    """The events around a bad one are read, and a note says what is missing and why."""
    sound = [json.dumps(event).encode() for event in EVENTS]
    listed = b",".join([*sound[:3], raw, *sound[3:], raw])
    path = write(tmp_path / "t.json", b'{"traceEvents": [' + listed + b"]}")
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == (f"2 events left out: {reason}.",)


ODD_EVENTS = {
    "nested events": complete("cpu_op", "a", 5, 1, stack=[{"x": 1}, {"ph": "X"}, {"y": [{}, {}]}]),
    "brackets in text": complete("cpu_op", 'op "}, {" ]]', 5, 1),
    "numbers as text": complete("cpu_op", "a", 5, 1) | {"ts": "5", "dur": "1"},
    "ph last": {k: v for k, v in complete("cpu_op", "a", 5, 1).items() if k != "ph"} | {"ph": "X"},
    "text beyond ASCII": complete("cpu_op", "вес 重み \U0001f642", 5, 1),
    "odd arguments": complete("cpu_op", "a", 5, 1, correlation=None, grid="1", stream=[]),
    "null category of args": complete("cpu_op", "a", 5, 1) | {"args": None},
}


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("odd", ODD_EVENTS.values(), ids=ODD_EVENTS)
def test_an_odd_but_sound_event_is_read(tmp_path: Path, odd: Event, block: int) -> None:
    """What other writers of JSON do, and what arguments hold, is no reason to lose an event."""
    timeline = read(tmp_path, [*EVENTS, odd, odd], block)
    names = [timeline.names[code] for code in timeline.host.name]
    assert names.count(odd["name"]) == 2
    assert len(names) == len(naive.rows(EVENTS)["host"]) + 2
    assert timeline.notes == ()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (rb"C:\new\pile.py", r"C:\new\pile.py".replace("\\n", "\n")),
        (rb"D:\work\it.py", r"D:\work\it.py"),
        (b"op \xff\xfe", "op \ufffd\ufffd"),
        (b"two\nlines", "two\nlines"),
        (rb"half \ud83d", "half ?"),
    ],
)
def test_text_that_is_not_quite_json_is_mended(tmp_path: Path, raw: bytes, name: str) -> None:
    """Paths of Windows, bytes that are no UTF-8 and line ends in names lose no event."""
    text = json.dumps(trace([*EVENTS, complete("cpu_op", "NAME", 5, 1)])).encode()
    timeline = kineto.read_trace(write(tmp_path / "t.json", text.replace(b"NAME", raw)))
    assert name in timeline.names
    assert timeline.notes == ()


def test_an_unknown_phase_is_passed_over(tmp_path: Path) -> None:
    """Letters that no one has used yet do no harm."""
    timeline = read(tmp_path, [{"ph": "?", "ts": "x"}, *EVENTS, {"ph": "long"}])
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == ()


def test_a_comma_too_many_does_no_harm(tmp_path: Path) -> None:
    """Some writers end a list with a comma."""
    text = json.dumps(trace(EVENTS)).encode()[:-2] + b", ]}"
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.notes == ()


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_of_a_cut_file_all_whole_events_are_read(tmp_path: Path, block: int) -> None:
    """A note says that the file ends in mid-event, and how many events come before."""
    text = json.dumps(trace(EVENTS)).encode()
    cut = text[: text.index(b'"cudaStreamSynchronize"')]
    timeline = kineto.read_trace(write(tmp_path / "t.json", cut), block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS[:7])
    assert timeline.notes == ("The file ends in mid-event; the 7 events before that were read.",)


# Names that no compression makes shorter.
MANY = EVENTS + [
    complete("cpu_op", hashlib.sha256(bytes([n])).hexdigest(), n, 1) for n in range(256)
]


def test_of_cut_compressed_data_all_whole_events_are_read(tmp_path: Path) -> None:
    """A recording whose copy was broken off is as good as its sound part."""
    packed = gzip.compress(json.dumps(trace(MANY)).encode(), mtime=0)
    timeline = kineto.read_trace(write(tmp_path / "t.json.gz", packed[: len(packed) // 2]))
    assert 100 < timeline.events < len(MANY)
    assert len(timeline.host) == len(naive.rows(MANY[: timeline.events])["host"])
    assert timeline.notes == (
        f"The file ends in mid-event; the {timeline.events} events before that were read.",
    )


def test_damaged_compressed_data_is_said_to_be_damaged(tmp_path: Path) -> None:
    """Flipped bits in compressed data stop the reading there."""
    packed = bytearray(gzip.compress(json.dumps(trace(MANY)).encode(), mtime=0))
    packed[-1000:-900] = bytes(100)
    timeline = kineto.read_trace(write(tmp_path / "t.json.gz", bytes(packed)), block_bytes=4096)
    assert any("The file is damaged" in note or "left out" in note for note in timeline.notes)


DEEP = 200_000
UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank": (b" \n ", "is empty"),
    "text": (b"hello", "neither a JSON object nor a list"),
    "ncu CSV": (b'"ID","Process ID","Process Name"\n', "a CSV page of ncu"),
    "ncu output": (b"==PROF== Connected\n", "output of ncu"),
    "ncu report": (b"NVR\x00" + bytes(100), "a report of ncu"),
    "zip": (b"PK\x03\x04" + bytes(100), "a ZIP archive"),
    "UTF-16": ("\ufeff{}".encode("utf-16-le"), "UTF-16 text"),
    "no events": (b'{"schemaVersion": 1}', "JSON without a list of events"),
    "events null": (b'{"traceEvents": null}', "JSON without a list of events"),
    "events empty": (b'{"traceEvents": []}', "holds no usable event (0 read)"),
    "nothing usable": (b'{"traceEvents": [{"ph": "i"}]}', "holds no usable event (1 read)"),
    "only negative": (json.dumps([complete("cpu_op", "a", 1, -1)]).encode(), "no usable event"),
    "cut at once": (b'{"traceEvents": [{"ph": "X", "na', "ends in mid-event"),
    "cut in a key": (b'{"traceEv', "ends early"),
    "cut in a value": (b'{"a": {"b": [1, 2', "ends early"),
    "no key": (b"{17: 4}", "is damaged"),
    "gzip cut at once": (gzip.compress(b"x")[:10], "ends early"),
    "deep list": (b"[" * DEEP, "no usable event"),
    "deep events": (b'{"traceEvents": [' + b'{"a":' * DEEP, "no usable event"),
    "deep value": (b'{"deviceProperties": ' + b"[" * DEEP + b"]" * DEEP + b"}", "JSON without"),
}


@pytest.mark.parametrize(("data", "words"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_unreadable_input_is_one_clear_error(
    tmp_path: Path, data: bytes, words: str, block: int
) -> None:
    """The error is one sentence that names the file and says what it is, or lacks."""
    path = write(tmp_path / "some.json", data)
    with pytest.raises(UnreadableInputError) as caught:
        kineto.read_trace(path, block_bytes=block)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_report_of_ncu_is_known_by_name(tmp_path: Path) -> None:
    """A report of Nsight Compute is said to be one."""
    path = write(tmp_path / "a.ncu-rep", b"\x01\x02\x03")
    with pytest.raises(UnreadableInputError, match="a report of ncu: give a trace"):
        kineto.read_trace(path)


DAMAGE = [b"{", b"}", b"[", b"]", b'"', b"\\", b"},{", b"}]", b"]}", b"\x00", b"\xff"]


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("damage", DAMAGE, ids=repr)
def test_damage_is_told_and_costs_no_event_before_it(
    tmp_path: Path, damage: bytes, block: int
) -> None:
    """Wherever a stray bracket or quote is, all before it is read, and what is lost has a note."""
    events = [complete("cpu_op", f"op{{{n}}}", n, 1) for n in range(9)]
    text = json.dumps(trace(events)).encode()
    for at in range(text.index(b"op{3}"), text.index(b"op{4}"), 5):
        path = write(tmp_path / "t.json", text[:at] + damage + text[at:])
        timeline = kineto.read_trace(path, block_bytes=block)
        names = [timeline.names[code] for code in timeline.host.name]
        assert {"op{0}", "op{1}", "op{2}"} <= set(names)
        # The event itself may have become another that is sound, and of no meaning.
        assert len(names) >= len(events) - 1 or timeline.notes != ()


def test_separators_that_are_lost_do_no_harm(tmp_path: Path) -> None:
    """Events that no comma separates are told apart by their brackets."""
    text = json.dumps(trace(EVENTS)).encode().replace(b"}, {", b"} {")
    timeline = kineto.read_trace(write(tmp_path / "t.json", text))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)


@pytest.mark.parametrize("junk", [b"]", b'"', b"[", b"{", b"\\", b"},{", b'{"ph":', b"9", b" "])
def test_a_file_of_junk_comes_to_an_end(tmp_path: Path, junk: bytes) -> None:
    """No repetition makes the reader run on the spot."""
    path = write(tmp_path / "t.json", b'{"traceEvents": [' + junk * 5000)
    with pytest.raises(UnreadableInputError, match="no usable event"):
        kineto.read_trace(path, block_bytes=1000)
