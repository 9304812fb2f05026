"""What each host thread was doing at each moment: the innermost call, flattened into lanes.

A lane is one line of host activity that issues GPU work. Threads that take turns (PyTorch runs
the backward pass on a thread of its own while the main thread waits) form one lane, for only one
of them can issue at a time; threads that work at once are lanes of their own.
"""

from __future__ import annotations

from array import array

import msgspec
import numpy as np

from tailwave.model import HostKind, Ints, Timeline
from tailwave.recordings.timeline.intervals import overlap, union

# Threads whose busy times overlap by less than this share take turns.
_TAKE_TURNS = 0.05


class Nesting(msgspec.Struct, frozen=True):
    """Operators and runtime calls of one thread, with who encloses whom.

    ``row`` holds host rows sorted by start; the others are parallel to it. ``end`` is where the
    row ends (ns), cut to its encloser's end: recorders round, and may let a call outlast the
    operator that made it. ``parent`` and ``top`` index into ``row`` (parent -1 at the top).
    """

    row: Ints
    end: Ints
    depth: Ints
    parent: Ints
    top: Ints


class Lane(msgspec.Struct, frozen=True):
    """One line of host activity: disjoint segments sorted by start.

    ``leaf`` is the host row of the innermost operator or call, ``parent`` that of the one around
    it (-1 if none), ``top`` that of the outermost one. Between segments the host was in no
    operator or call.
    """

    threads: tuple[int, ...]
    start: Ints
    end: Ints
    leaf: Ints
    parent: Ints
    top: Ints


def nest(timeline: Timeline, thread: int) -> Nesting:
    """Find the enclosing call of every operator and runtime call of a thread."""
    host = timeline.host
    calls = (host.kind == HostKind.OPERATOR) | (host.kind == HostKind.RUNTIME)
    row = np.flatnonzero(calls & (host.thread == thread) & (host.end > host.start))
    # Packed arrays: a list of tuples would take ten times the memory.
    ends, depths, parents, tops = (array("q") for _ in range(4))
    open_rows: list[tuple[int, int]] = []  # (index, end) of the calls around the present one
    spans = zip(host.start[row].tolist(), host.end[row].tolist(), strict=True)
    for index, (start, last) in enumerate(spans):
        while open_rows and open_rows[-1][1] <= start:
            open_rows.pop()
        parent, limit = open_rows[-1] if open_rows else (-1, last)
        end = min(last, limit)
        open_rows.append((index, end))
        ends.append(end)
        depths.append(len(open_rows) - 1)
        parents.append(parent)
        tops.append(open_rows[0][0])
    return Nesting(
        row, *(np.array(column, dtype=np.int64) for column in (ends, depths, parents, tops))
    )


def flatten(timeline: Timeline, nesting: Nesting) -> tuple[Ints, Ints, Ints]:
    """Cut a thread into segments: start, end, index of the innermost call in the nesting."""
    start, end = timeline.host.start[nesting.row], nesting.end
    index = np.arange(len(start))
    moment = np.concatenate([end, start])
    leaf = np.concatenate([nesting.parent, index])
    # At one moment ends come before starts, inner ends before outer ones, outer starts first.
    rank = np.concatenate([-nesting.depth - 1, nesting.depth])
    order = np.lexsort((rank, moment))
    moment, leaf = moment[order], leaf[order]
    keep = (moment[1:] > moment[:-1]) & (leaf[:-1] >= 0)
    return moment[:-1][keep], moment[1:][keep], leaf[:-1][keep]


def issuing_threads(timeline: Timeline) -> list[int]:
    """Return the threads that launched GPU work, the busiest first."""
    launched = timeline.gpu.launch[timeline.gpu.launch >= 0]
    threads, counts = np.unique(timeline.host.thread[launched], return_counts=True)
    return [int(t) for t in threads[np.argsort(-counts, kind="stable")]]


def build_lanes(timeline: Timeline) -> list[Lane]:
    """Flatten the issuing threads and join those that take turns."""
    groups: list[list[Lane]] = []
    for thread in issuing_threads(timeline):
        flat = _flat(timeline, thread)
        for group in groups:
            same_process = timeline.threads[group[0].threads[0]].pid == timeline.threads[thread].pid
            if same_process and all(_take_turns(flat, other) for other in group):
                group.append(flat)
                break
        else:
            groups.append([flat])
    return [_join(group) for group in groups]


def _flat(timeline: Timeline, thread: int) -> Lane:
    """Give one thread as a lane."""
    nesting = nest(timeline, thread)
    start, end, leaf = flatten(timeline, nesting)
    parent = nesting.parent[leaf]
    around = np.where(parent >= 0, nesting.row[parent], -1) if len(parent) else parent
    return Lane((thread,), start, end, nesting.row[leaf], around, nesting.row[nesting.top[leaf]])


def _take_turns(one: Lane, other: Lane) -> bool:
    shared = int(overlap(*union(one.start, one.end), other.start, other.end).sum())
    smaller = min(int((flat.end - flat.start).sum()) for flat in (one, other))
    return shared <= _TAKE_TURNS * smaller


def _join(group: list[Lane]) -> Lane:
    start, end, leaf, parent, top = (
        np.concatenate([getattr(flat, name) for flat in group])
        for name in ("start", "end", "leaf", "parent", "top")
    )
    order = np.argsort(start, kind="stable")
    # The little that remains of overlap belongs to whoever came first.
    reach = np.maximum.accumulate(end[order]) if len(order) else end
    start[order[1:]] = np.maximum(start[order[1:]], reach[:-1])
    order = order[end[order] > start[order]]
    threads = tuple(flat.threads[0] for flat in group)
    return Lane(threads, start[order], end[order], leaf[order], parent[order], top[order])
