"""A lane as tiles without gaps: the segments of its calls, and the pauses between them."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Ints, Timeline
from tailwave.recordings.timeline.lanes import Lane


class Tiles(msgspec.Struct, frozen=True):
    """Spans that follow each other (ns).

    ``row`` is the host row of the innermost operator or call, of a ``pause`` that of the one
    before it.
    """

    start: Ints
    end: Ints
    row: Ints
    pause: Flags


def tile(lane: Lane, window: tuple[int, int], marks: Ints) -> Tiles:
    """Fill the pauses of a lane, at least within a window, cutting them at the given marks (ns)."""
    lane = _padded(lane, *window)
    gap = np.flatnonzero(lane.start[1:] > lane.end[:-1])
    pause_start, pause_end, before = _cut(
        lane.end[gap], lane.start[gap + 1], lane.leaf[gap], np.unique(marks)
    )
    start = np.concatenate([lane.start, pause_start])
    end = np.concatenate([lane.end, pause_end])
    row = np.concatenate([lane.leaf, before])
    pause = np.arange(len(start)) >= len(lane.start)
    order = np.argsort(start, kind="stable")
    # The padding has done its work; as a piece of no length it would make others look stretched.
    order = order[end[order] > start[order]]
    return Tiles(start[order], end[order], row[order], pause[order])


def _padded(lane: Lane, low: int, high: int) -> Lane:
    """Add empty segments at the ends of a window, so that pauses up to them are seen."""
    if len(lane.start) == 0:
        return lane
    first, last = min(low, int(lane.start[0])), max(high, int(lane.end[-1]))
    leaf, parent, top = (
        np.concatenate([rows[:1], rows, rows[-1:]]) for rows in (lane.leaf, lane.parent, lane.top)
    )
    start = np.concatenate([[first], lane.start, [last]])
    end = np.concatenate([[first], lane.end, [last]])
    return Lane(lane.threads, start, end, leaf, parent, top)


def _cut(start: Ints, end: Ints, row: Ints, marks: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut disjoint, sorted spans wherever a mark lies within one."""
    if len(start) == 0:
        return start, end, row
    span = np.searchsorted(start, marks, side="right") - 1
    within = (span >= 0) & (marks > start[np.maximum(span, 0)]) & (marks < end[np.maximum(span, 0)])
    span, marks = span[within], marks[within]
    begins = np.concatenate([start, marks])
    order = np.argsort(begins, kind="stable")
    owner = np.concatenate([np.arange(len(start)), span])[order]
    begins = begins[order]
    ends = np.minimum(end[owner], np.append(begins[1:], np.iinfo(np.int64).max))
    return begins, ends, row[owner]


def inside(tiles: Tiles, start: Ints, end: Ints) -> Flags:
    """Tell which stretches begin within one of the sorted, disjoint spans."""
    if len(start) == 0:
        return np.zeros(len(tiles.start), dtype=bool)
    span = np.searchsorted(start, tiles.start, side="right") - 1
    return (span >= 0) & (tiles.start < end[np.maximum(span, 0)])


def pieces(timeline: Timeline, tiles: Tiles) -> Ints:
    """Number the pieces of work: the same call, or the pause between the same two calls."""
    name = timeline.host.name[tiles.row].astype(np.int64)
    following = np.append(name[1:], -1)
    key = np.where(tiles.pause, (name + 1) * (len(timeline.names) + 1) + following + 1, -name - 1)
    # A pause before the first call follows none, so it is like no other.
    key[:1] = np.where(tiles.pause[:1], 0, key[:1])
    return key
