"""What each host thread was doing at each moment: the innermost call, flattened into lanes.

A lane is one line of host activity that issues GPU work. Threads that take turns (PyTorch runs
the backward pass on a thread of its own while the main thread waits) form one lane, for only one
of them can issue at a time; threads that work at once are lanes of their own.
"""

from __future__ import annotations

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
    it (-1 if none), ``top`` that of the outermost one. Between segments the host was in no operator
    or call.
    """

    threads: tuple[int, ...]
    start: Ints
    end: Ints
    leaf: Ints
    parent: Ints
    top: Ints


def nest(timeline: Timeline, thread: int) -> Nesting:
    """Find the enclosing call of every operator and runtime call of a thread."""
    return _nest(timeline, np.flatnonzero(timeline.host.thread == thread))


def _nest(timeline: Timeline, own: Ints) -> Nesting:
    """Find the enclosing calls of one thread, given its host rows."""
    host = timeline.host
    kind, length = host.kind[own], host.end[own] - host.start[own]
    calls = (kind == HostKind.OPERATOR) | (kind == HostKind.RUNTIME)
    row = own[calls & (length > 0)]
    start, end = host.start[row], host.end[row]
    # Of calls that nest, as nearly all do, those around one are the earlier ones that still run.
    index = np.arange(len(row))
    depth = index - np.searchsorted(np.sort(end), start, side="right")
    parent = _last_above(depth)
    disturbed = (parent >= 0) & (end > end[parent])
    if disturbed.any():
        # What nothing runs across stands apart, so that only the rows beside a bad one are walked.
        alone = np.ones(len(row), dtype=bool)
        alone[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
        group = np.cumsum(alone) - 1
        bad = np.flatnonzero(np.isin(group, group[disturbed]))
        end[bad], depth[bad], above = _walked(start[bad], end[bad])
        parent[bad] = np.where(above >= 0, bad[above], -1)
    top = np.maximum.accumulate(np.where(depth == 0, index, 0))
    return Nesting(row, end, depth, parent, top)


def _last_above(depth: Ints) -> Ints:
    """For each row the last one before it that is one less deep; -1 at the top."""
    parent = np.full(len(depth), -1, dtype=np.int64)
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=0) + 2))
    for low, middle, high in zip(bounds, bounds[1:], bounds[2:], strict=False):
        above, rows = by_depth[low:middle], by_depth[middle:high]
        parent[rows] = above[np.searchsorted(above, rows) - 1]
    return parent


def _walked(start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Nest one by one: end (cut to the encloser's), depth and parent of each."""
    ends, depths, parents = [], [], []
    open_rows: list[tuple[int, int]] = []  # (index, end) of the calls around the present one
    for index, (begin, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while open_rows and open_rows[-1][1] <= begin:
            open_rows.pop()
        parent, limit = open_rows[-1] if open_rows else (-1, last)
        parents.append(parent)
        depths.append(len(open_rows))
        ends.append(min(last, limit))
        open_rows.append((index, ends[-1]))
    return np.array(ends), np.array(depths), np.array(parents)


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


class _Flat(msgspec.Struct, frozen=True):
    """A thread cut into segments, with the time that they cover as disjoint intervals."""

    thread: int
    columns: tuple[Ints, Ints, Ints, Ints, Ints]  # start, end, leaf, parent, top
    busy: tuple[Ints, Ints]


def build_lanes(timeline: Timeline) -> list[Lane]:
    """Flatten the issuing threads and join those that take turns."""
    by_thread = np.argsort(timeline.host.thread, kind="stable")
    threads = timeline.host.thread[by_thread]
    groups: list[list[_Flat]] = []
    for thread in issuing_threads(timeline):
        low, high = np.searchsorted(threads, (thread, thread + 1))
        flat = _flat(timeline, thread, by_thread[low:high])
        for group in groups:
            same_process = timeline.threads[group[0].thread].pid == timeline.threads[thread].pid
            if same_process and all(_take_turns(flat, other) for other in group):
                group.append(flat)
                break
        else:
            groups.append([flat])
    return [_join(group) for group in groups]


def _flat(timeline: Timeline, thread: int, own: Ints) -> _Flat:
    nesting = _nest(timeline, own)
    start, end, leaf = flatten(timeline, nesting)
    rows = np.append(nesting.row, -1)
    columns = start, end, rows[leaf], rows[nesting.parent[leaf]], rows[nesting.top[leaf]]
    return _Flat(thread, columns, union(start, end))


def _take_turns(one: _Flat, other: _Flat) -> bool:
    (start, end), (others, other_ends) = one.busy, other.busy
    if not len(start) or not len(others) or end[-1] <= others[0] or other_ends[-1] <= start[0]:
        return True
    smaller = min(int((end - start).sum()), int((other_ends - others).sum()))
    fewer, more = sorted((one.busy, other.busy), key=lambda busy: len(busy[0]))
    return int(overlap(*more, *fewer).sum()) <= _TAKE_TURNS * smaller


def _join(group: list[_Flat]) -> Lane:
    start, end, *rows = (
        np.concatenate(column) for column in zip(*(flat.columns for flat in group), strict=True)
    )
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    # The little that remains of overlap belongs to whoever came first.
    if len(start):
        start = np.maximum(start, np.concatenate([[start[0]], np.maximum.accumulate(end)[:-1]]))
    keep = end > start
    threads = tuple(flat.thread for flat in group)
    return Lane(threads, start[keep], end[keep], *(column[order][keep] for column in rows))
