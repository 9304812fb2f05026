"""A lane as tiles without gaps."""

from __future__ import annotations

import numpy as np

from tailwave.recordings.timeline.lanes import build_lanes
from tailwave.recordings.timeline.tiles import inside, pieces, tile
from tests.builders import Trace, kernel


def test_pauses_fill_what_calls_leave_and_are_cut_at_marks() -> None:
    """Also up to the ends of the window."""
    trace = Trace().op("a", 10, 20).launch(12, 15, kernel("k", 16, 18)).op("b", 40, 50)
    timeline = trace.build()
    [lane] = build_lanes(timeline)
    tiles = tile(lane, (0, 60_000), np.array([30, 45, 99]) * 1000)
    assert (tiles.start / 1e3).tolist() == [0, 10, 12, 15, 20, 30, 40, 50]
    assert (tiles.end / 1e3).tolist() == [10, 12, 15, 20, 30, 40, 50, 60]
    assert np.flatnonzero(tiles.pause).tolist() == [0, 4, 5, 7]
    spans = np.array([11_000, 35_000]), np.array([16_000, 41_000])
    assert np.flatnonzero(inside(tiles, *spans)).tolist() == [2, 3, 6]


def test_the_same_work_is_the_same_piece() -> None:
    """The same call, and the pause between the same two; not the pause before the first."""
    trace = Trace()
    for begin in (10, 30, 50):
        trace.launch(begin, begin + 5, kernel("k", begin + 6, begin + 9)).op(
            "b", begin + 8, begin + 10
        )
    timeline = trace.build()
    [lane] = build_lanes(timeline)
    piece = pieces(timeline, tile(lane, (0, 60_000), np.zeros(0, dtype=np.int64))).tolist()
    assert piece[1:5] == piece[5:9]
    assert len(set(piece[1:5])) == 4
    assert piece.count(piece[0]) == 1
