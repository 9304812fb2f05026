"""What recorders get wrong and is set right, each with its note (times in us)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from tailwave.model import Timeline
from tailwave.recordings.timeline.mending import mended
from tests.builders import Trace, kernel
from tests.recordings.machine import programs
from tests.recordings.timeline.recordings import recordings

HOUR = 3_600e6


def rows(timeline: Timeline) -> list[tuple[str, float, float]]:
    """List the GPU's rows."""
    gpu = timeline.gpu
    names = [timeline.names[code] for code in gpu.name]
    times = zip((gpu.start / 1e3).tolist(), (gpu.end / 1e3).tolist(), strict=True)
    return [(name, *both) for name, both in zip(names, times, strict=True)]


def test_rows_without_a_time() -> None:
    """CUPTI gives 0 where it could not take a time; the clock of a machine is hours on."""
    trace = Trace().at(2 * HOUR).launch(0, 5, kernel("a", 10, 20)).launch(6, 9, kernel("b", 20, 30))
    found = mended(trace.at(0).unlaunched(kernel("lost", 0, 3)).build())
    assert [name for name, _, _ in rows(found)] == ["a", "b"]
    assert found.notes == ("1 GPU event left out: no time, the recorder could not take it.",)


def test_events_that_are_there_twice() -> None:
    """Of two exports merged each event, of GPU and host, counts once, launch and all."""
    trace = Trace()
    for _ in range(2):
        trace.op("aten::mm", 0, 10).launch(1, 6, kernel("a", 10, 20))
    timeline = trace.build()
    gpu = msgspec.structs.replace(timeline.gpu, correlation=timeline.gpu.correlation * 0 + 1)
    found = mended(msgspec.structs.replace(timeline, gpu=gpu))
    assert rows(found) == [("a", 10, 20)]
    assert len(found.host) == 2
    assert found.names[found.host.name[found.gpu.launch[0]]] == "cudaLaunchKernel"
    assert found.notes == ("1 GPU event left out: the events are there twice.",)


def test_rows_longer_than_the_recording() -> None:
    """No kernel runs for longer than the recorder did."""
    trace = Trace(recorded=(0, 1000)).launch(0, 5, kernel("a", 10, 20), kernel("b", 30, 9000))
    found = mended(trace.build())
    assert rows(found) == [("a", 10, 20)]
    assert found.notes == ("1 GPU event left out: longer than the whole recording (1 ms).",)


def test_rows_that_outlast_the_next_in_their_stream() -> None:
    """A stream runs in order: what ends after its successor is cut where that begins."""
    trace = Trace().launch(0, 5, kernel("long", 10, 500), kernel("next", 30, 40))
    found = mended(trace.build())
    assert rows(found) == [("long", 10, 30), ("next", 30, 40)]
    (note,) = found.notes
    assert note.startswith("1 GPU event ended after the work that follows in the stream: cut")
    assert "470 us in all" in note


@pytest.mark.parametrize("stream", [7, 8])
def test_rows_that_may_overlap(stream: int) -> None:
    """Another stream's work, and a kernel that begins while the one before drains, are sound."""
    end = 40 if stream == 7 else 15
    trace = Trace().launch(0, 5, kernel("a", 10, 30), kernel("b", 12, end, stream=stream))
    timeline = trace.build()
    assert mended(timeline) is timeline


def test_a_clock_that_is_ahead() -> None:
    """All work begins before its launch: the GPU's clock is shifted by the least that mends it."""
    trace = Trace()
    for at in range(100, 1000, 100):
        trace.launch(at, at + 5, kernel("a", at - 32, at - 22))
    found = mended(trace.launch(1000, 1005, kernel("z", 960, 970)).build())
    assert rows(found)[0] == ("a", 108, 118)
    assert rows(found)[-1] == ("z", 1000, 1010)
    assert found.notes == (
        "The GPU's clock was 40 us ahead of the host's at least: its events are shifted by that.",
    )


def test_one_row_that_is_early_is_no_clock() -> None:
    """Times that differ are wrong rows, which no shift sets right."""
    trace = Trace().launch(5000, 5005, kernel("odd", 10, 20))
    for at in range(6000, 8000, 100):
        trace.launch(at, at + 5, kernel("a", at + 6, at + 20))
    timeline = trace.build()
    assert mended(timeline) is timeline


@given(programs())
def test_what_is_sound_stays(timeline: Timeline) -> None:
    """A recording of what can be is left as it is."""
    assert mended(timeline) is timeline


@given(recordings())
def test_whatever_is_mended_is_said_once(timeline: Timeline) -> None:
    """A change has its note; what is set right is right, so a second look finds no clock ahead."""
    found = mended(timeline)
    assert (found is timeline) == (found.notes == timeline.notes)
    assert len(found.gpu) <= len(timeline.gpu)
    assert (found.gpu.launch < len(found.host)).all()
