"""What each host thread was doing at each moment: the innermost call, flattened into lanes.

A lane is one line of host activity that issues GPU work. Threads that take turns (PyTorch runs
the backward pass on a thread of its own while the main thread waits) form one lane, for only one
of them can issue at a time; threads that work at once are lanes of their own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import msgspec
import numpy as np

from tailwave.model import Floats, HostKind, Ints, Timeline
from tailwave.recordings.timeline.intervals import union

# Threads whose busy times overlap by less than this share take turns.
_TAKE_TURNS = 0.05
# Overlaps that are compared at once, which bounds the memory that it takes.
_PAIRS_AT_ONCE = 1 << 20
# A thread cut into segments: start, end, innermost call.
_Flat: TypeAlias = tuple[Ints, Ints, Ints]


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

    ``leaf`` is the host row of the innermost operator or call, ``parent`` that around it (-1 for
    none), ``top`` the outermost one. Between segments the host was in no operator or call.
    """

    threads: tuple[int, ...]
    start: Ints
    end: Ints
    leaf: Ints
    parent: Ints
    top: Ints


def nest(timeline: Timeline, own: Ints) -> Nesting:
    """Find the enclosing call of every operator and runtime call of a thread, given its rows."""
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


def build_lanes(timeline: Timeline) -> list[Lane]:
    """Flatten the issuing threads and join those that take turns."""
    by_thread = np.argsort(timeline.host.thread, kind="stable")
    sorted_threads = timeline.host.thread[by_thread]
    threads = issuing_threads(timeline)
    flats: list[_Flat] = []
    # By host row: the call around it, and the outermost one.
    parent, top = np.full((2, len(timeline.host)), -1, dtype=np.int64)
    for thread in threads:
        low, high = np.searchsorted(sorted_threads, (thread, thread + 1))
        nesting = nest(timeline, by_thread[low:high])
        start, end, leaf = flatten(timeline, nesting)
        parent[nesting.row] = np.append(nesting.row, -1)[nesting.parent]
        top[nesting.row] = nesting.row[nesting.top]
        flats.append((start, end, nesting.row[leaf]))
    clashes = _clashes([union(start, end) for start, end, _ in flats])
    groups: list[list[int]] = []  # places in the list of threads
    group_of: dict[int, int] = {}
    of_process: dict[str, list[int]] = {}
    for place, thread in enumerate(threads):
        others = {group_of[other] for other in clashes.get(place, ())}
        own = of_process.setdefault(timeline.threads[thread].pid, [])
        free = next((group for group in own if group not in others), len(groups))
        if free == len(groups):
            groups.append([])
            own.append(free)
        groups[free].append(place)
        group_of[place] = free
    lanes = []
    for group in groups:
        start, end, leaf = _join([flats[place] for place in group])
        of = tuple(threads[place] for place in group)
        lanes.append(Lane(of, start, end, leaf, parent[leaf], top[leaf]))
    return lanes


def _clashes(busy: list[tuple[Ints, Ints]]) -> dict[int, list[int]]:
    """For each thread those before it that it does not take turns with, given when each was busy.

    Only times that do overlap are compared, which of threads that take turns are few.
    """
    if not busy:
        return {}
    start, end = (np.concatenate(column) for column in zip(*busy, strict=True))
    thread = np.repeat(np.arange(len(busy)), [len(starts) for starts, _ in busy])
    order = np.argsort(start, kind="stable")
    start, end, thread = start[order], end[order], thread[order]
    index = np.arange(len(start))
    count = np.searchsorted(start, end) - index - 1  # of those that begin before this one ends
    upto = np.cumsum(count)
    bounds = np.searchsorted(upto, np.arange(0, upto.max(initial=0), _PAIRS_AT_ONCE), side="right")
    pairs: Ints = np.zeros(0, dtype=np.int64)
    shared: Floats = np.zeros(0)
    for low, high in pairwise([*bounds.tolist(), len(start)]):
        one = np.repeat(index[low:high], count[low:high])
        other = one + 1 + np.arange(len(one))
        other -= np.repeat((upto - count)[low:high] - (upto - count)[low], count[low:high])
        both = np.sort([thread[one], thread[other]], axis=0)
        pair = both[0] * len(busy) + both[1]
        pairs, place = np.unique(np.concatenate([pairs, pair]), return_inverse=True)
        ns = np.minimum(end[one], end[other]) - start[other]
        shared = np.bincount(place, np.concatenate([shared, ns])).astype(np.float64)
    earlier, later = pairs // len(busy), pairs % len(busy)
    total = np.array([(ends - starts).sum() for starts, ends in busy])
    too_long = shared > _TAKE_TURNS * np.minimum(total[earlier], total[later])
    clashes: dict[int, list[int]] = {}
    for one, other in zip(earlier[too_long].tolist(), later[too_long].tolist(), strict=True):
        clashes.setdefault(other, []).append(one)
    return clashes


def _join(flats: list[_Flat]) -> _Flat:
    start, end, leaf = (np.concatenate(column) for column in zip(*flats, strict=True))
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    # The little that remains of overlap belongs to whoever came first.
    if len(start):
        start = np.maximum(start, np.concatenate([[start[0]], np.maximum.accumulate(end)[:-1]]))
    keep = end > start
    return start[keep], end[keep], leaf[order[keep]]
