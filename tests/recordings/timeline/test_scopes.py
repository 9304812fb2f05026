"""What lies around a moment on its own thread."""

from __future__ import annotations

import numpy as np

from tailwave.model import HostKind, Timeline
from tailwave.recordings.timeline.scopes import named, outermost, quiet, side_by_side, without
from tests.builders import Trace, kernel


def two_threads() -> Timeline:
    """Record a thread that launches within an outer operator, and one that does not."""
    trace = Trace().op("outer", 0, 100).op("inner", 10, 40).launch(50, 55, kernel("k", 60, 70))
    return trace.thread("other").op("beside", 5, 95).op("within", 20, 30).build()


def names(timeline: Timeline, rows: np.ndarray) -> list[str]:
    """Name host rows."""
    return [timeline.names[code] for code in timeline.host.name[rows]]


def test_threads_are_apart() -> None:
    """What another thread does at the same time is around nothing."""
    timeline = two_threads()
    offset = side_by_side(timeline, (0, 1))
    every = np.arange(len(timeline.host))
    scopes = outermost(timeline, every, offset)
    assert names(timeline, scopes.row) == ["outer", "beside"]
    assert names(timeline, scopes.around(timeline, every, offset)) == [
        *("outer", "beside", "outer", "beside", "outer")
    ]


def test_a_scope_lies_over_more_than_half() -> None:
    """Of a span that is half outside it, it is not told."""
    timeline = Trace().op("scope", 10, 20).build()
    scopes = outermost(timeline, np.array([0]), side_by_side(timeline, (0,)))
    starts, ends = np.array([0, 0, 15, 30]) * 1000, np.array([19, 20, 24, 40]) * 1000
    assert scopes.over(starts, ends).tolist() == [-1, -1, 0, -1]


def test_what_launches_a_kernel_is_not_quiet() -> None:
    """On its own thread; a kernel that was launched but not recorded counts."""
    timeline = two_threads()
    offset = side_by_side(timeline, (0, 1))
    operators = np.flatnonzero(timeline.host.kind == HostKind.OPERATOR)
    assert names(timeline, quiet(timeline, operators, offset)) == ["beside", "inner", "within"]
    lost = (
        Trace().op("a", 0, 9).launch(1, 2).op("b", 10, 19).call("cudaMemcpyAsync", 11, 12).build()
    )
    assert names(lost, quiet(lost, np.array([0, 2]), side_by_side(lost, (0,)))) == ["b"]


def test_nothing_lies_around_anything_in_an_empty_recording() -> None:
    """No rows, no scopes."""
    empty = Trace().build()
    none = np.zeros(0, dtype=np.int64)
    offset = side_by_side(empty, ())
    assert len(outermost(empty, none, offset).over(none, none)) == 0
    assert len(without(empty, none, none, offset)) == 0
    assert len(named(empty, np.zeros(0, dtype=bool), (HostKind.OPERATOR,))) == 0
