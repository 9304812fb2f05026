"""Who encloses whom on a host thread, and which threads form one line of activity."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import Timeline
from tailwave.recordings.timeline.lanes import Lane, build_lanes, issuing_threads, nest
from tests.builders import Trace, kernel


def segments(timeline: Timeline, lane: Lane) -> list[tuple[float, float, str, str]]:
    """Give a lane as begin and end (us), innermost call and outermost call."""
    return [
        (
            int(lane.start[i]) / 1e3,
            int(lane.end[i]) / 1e3,
            timeline.names[timeline.host.name[lane.leaf[i]]],
            timeline.names[timeline.host.name[lane.top[i]]],
        )
        for i in range(len(lane.start))
    ]


def lane_of(trace: Trace) -> list[tuple[float, float, str, str]]:
    """Build a trace that has one lane, and give that."""
    timeline = trace.build()
    (lane,) = build_lanes(timeline)
    return segments(timeline, lane)


def test_a_lane_shows_the_innermost_call() -> None:
    """An operator with a launch in it is cut into before, launch and after."""
    trace = Trace().op("aten::mm", 0, 20).launch(10, 15, kernel("gemm", 18, 30))
    assert lane_of(trace) == [
        (0, 10, "aten::mm", "aten::mm"),
        (10, 15, "cudaLaunchKernel", "aten::mm"),
        (15, 20, "aten::mm", "aten::mm"),
    ]


def test_calls_side_by_side_have_no_parent() -> None:
    """A call that begins as another ends is its neighbour, not its child."""
    trace = Trace().op("aten::a", 0, 10).op("aten::b", 10, 20).launch(12, 15, kernel("k", 16, 19))
    timeline = trace.build()
    nesting = nest(timeline, np.arange(len(timeline.host)))
    assert nesting.depth.tolist() == [0, 0, 1]
    assert nesting.parent.tolist() == [-1, -1, 1]
    assert nesting.top.tolist() == [0, 1, 1]


def test_nesting_goes_deep() -> None:
    """Each level knows the call around it, and the outermost one."""
    trace = Trace().op("a", 0, 100).op("b", 10, 90).op("c", 20, 50).op("d", 30, 40).op("e", 60, 70)
    timeline = trace.build()
    nesting = nest(timeline, np.arange(len(timeline.host)))
    assert nesting.depth.tolist() == [0, 1, 2, 3, 2]
    assert nesting.parent.tolist() == [-1, 0, 1, 2, 1]
    assert nesting.top.tolist() == [0, 0, 0, 0, 0]


def test_a_call_that_outlasts_its_operator_is_cut() -> None:
    """Rounding may let a call end after its operator; what follows is not put into either."""
    trace = Trace().op("a", 0, 10).launch(5, 10.002, kernel("k", 11, 12)).op("b", 10.001, 20)
    assert lane_of(trace) == [
        (0, 5, "a", "a"),
        (5, 10, "cudaLaunchKernel", "a"),
        (10.001, 20, "b", "b"),
    ]


def test_calls_of_no_length_are_left_out() -> None:
    """A call that lasted 0 us was doing nothing at any moment."""
    trace = Trace().op("a", 0, 10).op("instant", 5, 5).launch(7, 8, kernel("k", 9, 12))
    assert [leaf for _, _, leaf, _ in lane_of(trace)] == ["a", "cudaLaunchKernel", "a"]


def test_launches_of_no_length_still_make_a_lane() -> None:
    """A recorder that counts in whole microseconds may leave a lane without any segment."""
    assert lane_of(Trace().launch(5, 5, kernel("k", 9, 12))) == []


def test_annotations_and_frames_are_not_calls() -> None:
    """What only labels time does not show in a lane."""
    trace = (
        Trace().step(0, 100).frame("train.py(3): main", 0, 90).launch(10, 15, kernel("k", 20, 30))
    )
    assert lane_of(trace) == [(10, 15, "cudaLaunchKernel", "cudaLaunchKernel")]


def test_threads_that_take_turns_are_one_lane() -> None:
    """The backward pass, on a thread of its own while the main one waits, goes on the same line."""
    trace = Trace().op("forward", 0, 50).launch(10, 20, kernel("f", 25, 30))
    trace.thread("backward").op("backward", 60, 100).launch(70, 80, kernel("b", 85, 90))
    (lane,) = build_lanes(trace.build())
    assert lane.threads == (0, 1)
    assert lane.start.tolist() == [0, 10_000, 20_000, 60_000, 70_000, 80_000]


def test_threads_that_work_at_once_are_lanes_of_their_own() -> None:
    """Two threads that issue at the same time are two lines."""
    trace = Trace().op("one", 0, 100).launch(10, 20, kernel("f", 25, 30))
    trace.thread("other").op("two", 0, 100).launch(10, 20, kernel("b", 35, 40, stream=8))
    assert [lane.threads for lane in build_lanes(trace.build())] == [(0,), (1,)]


def test_threads_of_different_processes_are_never_joined() -> None:
    """Two processes may number their threads alike, and take turns by chance."""
    trace = Trace().thread("7", pid="1").launch(0, 10, kernel("f", 25, 30))
    trace.thread("7", pid="2").launch(50, 60, kernel("b", 65, 70))
    assert [lane.threads for lane in build_lanes(trace.build())] == [(0,), (1,)]


def test_a_lane_is_disjoint() -> None:
    """The little that threads taking turns overlap belongs to who came first."""
    trace = Trace().op("forward", 0, 50).launch(10, 20, kernel("f", 25, 30))
    trace.thread("backward").op("backward", 49, 100).launch(70, 80, kernel("b", 85, 90))
    (lane,) = build_lanes(trace.build())
    assert (lane.end[:-1] <= lane.start[1:]).all()
    assert int((lane.end - lane.start).sum()) == 100_000


def test_the_busiest_issuing_thread_comes_first() -> None:
    """Threads are ordered by how much GPU work they launched; others are left out."""
    trace = Trace().launch(0, 5, kernel("a", 6, 9))
    trace.thread("idle").op("nothing", 0, 10)
    trace.thread("busy").launch(10, 15, kernel("b", 16, 17)).launch(20, 25, kernel("c", 26, 27))
    timeline = trace.build()
    assert [timeline.threads[thread].tid for thread in issuing_threads(timeline)] == [
        "busy",
        "main",
    ]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 12)), max_size=14))
def test_any_calls_are_nested_as_one_after_the_other_would(spans: list[tuple[int, int]]) -> None:
    """However they overlap: the innermost call that still runs encloses, and cuts, the next."""
    trace = Trace()
    for begin, length in spans:
        trace.op("a", begin, begin + length)
    timeline = trace.build()
    open_calls: list[tuple[int, int]] = []  # place and end
    expected = []
    for place in range(len(timeline.host)):
        start, end = int(timeline.host.start[place]), int(timeline.host.end[place])
        while open_calls and open_calls[-1][1] <= start:
            open_calls.pop()
        parent, limit = open_calls[-1] if open_calls else (-1, end)
        open_calls.append((place, min(end, limit)))
        expected.append((min(end, limit), len(open_calls) - 1, parent, open_calls[0][0]))
    nesting = nest(timeline, np.arange(len(timeline.host)))
    columns = (nesting.end, nesting.depth, nesting.parent, nesting.top)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
