"""The Kineto reader on any sound trace, and on any damage to one."""

from __future__ import annotations

import contextlib
import gzip
import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.errors import UnreadableInputError
from tailwave.recordings.readers import kineto
from tests.recordings.readers import naive_kineto as naive
from tests.recordings.readers.sample import EVENTS, Event, complete, on_gpu, trace, write

if TYPE_CHECKING:
    import pytest


TIMES = st.integers(0, 10**9).map(lambda ns: ns / 1000)
NAMES = st.sampled_from(["aten::mm", "a", "", "}, {", '"', "\\", "é", "x\ny", "]}"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["Input Dims", "stack", "External id", "}, {"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
)
CORRELATIONS = st.integers(1, 6)


@st.composite
def drawn_event(draw: st.DrawFn) -> Event:
    """Draw any sound event."""
    kind = draw(st.sampled_from(["host", "call", "gpu", "wait", "other"]))
    name, ts, dur, more = draw(NAMES), draw(TIMES), draw(TIMES), draw(ARGUMENTS)
    if kind == "host":
        cat = draw(st.sampled_from(["cpu_op", "python_function", "user_annotation"]))
        return complete(cat, name, ts, dur, **more) | {"tid": draw(st.integers(1, 3))}
    if kind == "gpu":
        cat = draw(st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset"]))
        sides = draw(st.lists(st.integers(1, 99), min_size=3, max_size=3))
        return on_gpu(cat, name, ts, dur, correlation=draw(CORRELATIONS), grid=sides, **more)
    if kind == "wait":
        stream = draw(st.sampled_from([7, *naive.NO_STREAM]))
        return on_gpu("cuda_sync", name, ts, dur, stream=stream, wait_on_stream=stream, **more)
    if kind == "call":
        return complete("cuda_runtime", name, ts, dur, **more)
    return {"ph": draw(st.sampled_from("ifsMCNO")), "ts": ts, "id": 4, "name": name, "args": more}


@st.composite
def drawn_text(draw: st.DrawFn) -> tuple[list[Event], bytes]:
    """Draw events and one of the ways to write them down."""
    events = draw(st.lists(drawn_event(), max_size=12))
    # Calls that share a correlation have tests of their own.
    for number, event in enumerate(e for e in events if e.get("cat") == "cuda_runtime"):
        event["args"]["correlation"] = number + 1
    events.append(EVENTS[-1])
    events.append(EVENTS[2])
    shuffled = [dict(draw(st.permutations(list(event.items())))) for event in events]
    others = {"deviceProperties": [], "note": draw(st.text()), "more": draw(ARGUMENTS)}
    members: list[tuple[str, Any]] = list(others.items())
    members.insert(draw(st.integers(0, len(members))), ("traceEvents", shuffled))
    indent = draw(st.sampled_from([None, 0, 1, 4]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r\n:")]))
    text = json.dumps(
        dict(members), indent=indent, separators=separators, ensure_ascii=draw(st.booleans())
    )
    return events, text.encode("utf-8", errors="replace")


@given(drawn=drawn_text(), block=st.integers(1, 600))
@settings(max_examples=60, deadline=None)
def test_any_sound_trace_is_read_as_a_plain_reading_does(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[Event], bytes], block: int
) -> None:
    """Whatever the white space, the order of keys and the blocks, the rows are the same."""
    events, text = drawn
    path = write(tmp_path_factory.getbasetemp() / "drawn.json", text)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(naive.load(path)["traceEvents"])
    assert timeline.events == len(events)
    assert timeline.notes == ()


SOUND = json.dumps(trace(EVENTS, deviceProperties=[{"id": 0, "numSms": 1}])).encode()


@given(data=st.data(), block=st.integers(1, 600), packed=st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_damaged_trace_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, block: int, *, packed: bool
) -> None:
    """Whatever happens to a file, it is read as far as can be, or refused in one sentence."""
    damaged = bytearray(gzip.compress(SOUND, mtime=0) if packed else SOUND)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        to = data.draw(st.integers(at, min(at + 40, len(damaged))))
        damaged[at:to] = data.draw(st.binary(max_size=8) | st.sampled_from([b"}", b'"', b"},{"]))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    path = write(tmp_path_factory.getbasetemp() / "damaged.json", bytes(damaged))
    with contextlib.suppress(UnreadableInputError):
        timeline = kineto.read_trace(path, block_bytes=block)
        assert len(timeline.host) + len(timeline.gpu) > 0
