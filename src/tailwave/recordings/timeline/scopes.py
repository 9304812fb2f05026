"""What lies around a moment on its own thread: the outermost operators, frames or annotations."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all


class Scopes(msgspec.Struct, frozen=True):
    """Host rows that follow each other on their threads, which are set side by side.

    ``start`` and ``end`` (ns) are on the axis that ``side_by_side`` makes of the threads.
    """

    row: Ints
    start: Ints
    end: Ints

    def around(self, timeline: Timeline, rows: Ints, offset: Ints) -> Ints:
        """Give for each host row the row over more than half of it, or -1."""
        host = timeline.host
        shift = offset[host.thread[rows]]
        return self.over(host.start[rows] + shift, host.end[rows] + shift)

    def over(self, start: Ints, end: Ints) -> Ints:
        """Give for each span (ns, on the same axis) the row over more than half of it, or -1."""
        if len(self.row) == 0:
            return np.full(len(start), -1, dtype=np.int64)
        # Whatever lies over more than half of a span lies over its middle.
        at = np.searchsorted(self.start, (start + end) // 2, side="right") - 1
        shared = np.minimum(end, self.end[at]) - np.maximum(start, self.start[at])
        return np.where((at >= 0) & (2 * shared > end - start), self.row[at], -1)


def side_by_side(timeline: Timeline, threads: tuple[int, ...]) -> Ints:
    """Give by thread what to add to a time (ns) so that no two threads share a moment."""
    host = timeline.host
    room = int(host.end.max() - host.start.min()) + 1 if len(host) else 0
    offset = np.zeros(len(timeline.threads), dtype=np.int64)
    offset[list(threads)] = np.arange(len(threads)) * room
    return offset


def outermost(timeline: Timeline, rows: Ints, offset: Ints) -> Scopes:
    """Keep of host rows those that lie in none of the others."""
    host = timeline.host
    start, end = host.start[rows] + offset[host.thread[rows]], host.end[rows]
    end = end + offset[host.thread[rows]]
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    opens = np.ones(len(order), dtype=bool)
    opens[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    return Scopes(rows[order][opens], start[opens], end[opens])


def quiet(timeline: Timeline, rows: Ints, offset: Ints) -> Ints:
    """Keep of host rows those in which their thread launches no kernel."""
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    launches = (host.kind == HostKind.RUNTIME) & (calls[host.name] == Call.LAUNCH)
    launches[gpu.launch[(gpu.kind == GpuKind.KERNEL) & (gpu.launch >= 0)]] = True
    return without(timeline, np.flatnonzero(launches), rows, offset)


def without(timeline: Timeline, calls: Ints, rows: Ints, offset: Ints) -> Ints:
    """Keep of host rows those in which their thread makes none of the calls."""
    start, end, thread = timeline.host.start, timeline.host.end, timeline.host.thread
    made = np.sort(start[calls] + offset[thread[calls]])
    shift = offset[thread[rows]]
    before, until = (np.searchsorted(made, moment[rows] + shift) for moment in (start, end))
    return np.asarray(rows[before == until], dtype=np.int64)


def named(timeline: Timeline, wanted: Flags, kinds: tuple[HostKind, ...]) -> Ints:
    """Host rows of some kinds whose names are wanted (by name code)."""
    host = timeline.host
    return np.flatnonzero(wanted[host.name] & np.isin(host.kind, kinds))
