"""What kind of work a lane did at each moment, and what time it lost on the way.

Each stretch of a lane is one *Activity*: issuing GPU work, waiting for the GPU, held by a copy,
or not issuing at all. Whatever is not issuing is time that the host lost; if the GPU later runs
dry because the host is late, that lost time is the reason.
"""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import (
    SIZEABLE_COPY,
    Call,
    classify_all,
    direction,
    is_pageable,
    is_synchronous_copy,
)
from tailwave.recordings.timeline.intervals import union
from tailwave.recordings.timeline.lanes import Lane
from tailwave.recordings.timeline.steps import Steps

# A pause between calls is starvation when it is this long (ns) and this many times the usual
# pause; shorter ones are the interpreter's own work between two operators, which is part of
# what issuing costs. A pause of a millisecond is starvation in any case: where a step has few
# calls, the usual pause is no measure.
_STARVED_NS = 500_000
_STARVED_TIMES = 10.0
_LONG_PAUSE_NS = 1_000_000
# How far back (operators) the preparation of a wait is looked for.
_PREPARATION = 16
# An operator that launches nothing is preprocessing when it is this long; shorter ones (views,
# shape arithmetic) are part of issuing.
_CPU_WORK_NS = 100_000
# A piece of host work is stretched when it took this long (ns) and this many times what the same
# piece takes elsewhere in the recording.
_STRETCHED_NS = 200_000
_STRETCHED_TIMES = 10.0
# Pauses are the interpreter's fault, not the input pipeline's, when they are this frequent:
# an input pipeline stalls at one place of a step, a contended lock at every place.
_EVERYWHERE = 0.1
# A step of few calls (one graph launch, say) has few places; so many long pauses are not many.
_EVERYWHERE_LEAST = 4
# Python's own work inside these annotations (gathering parameters, say) issues the step.
_ISSUING_ANNOTATION = "Optimizer."
# The framework's data loader marks its own time, however short.
LOADER_ANNOTATION = "enumerate(DataLoader)"


class Activity(enum.IntEnum):
    """What a lane was doing."""

    ISSUE = 0  # operators and launches, with the interpreter's time between them
    SYNC = 1  # waiting for the GPU, with the operator that exists only to wait
    COPY = 2  # held by a copy of pageable memory
    STARVED = 3  # not issuing: input pipeline, sleep, preprocessing
    STRETCHED = 4  # issuing, but the same piece of work takes far less time elsewhere
    STARTUP = 5  # context creation, module loading, first-call compilation


class HostWork(msgspec.Struct, frozen=True):
    """A lane as stretches that tile it from its first call to its last, without gaps.

    ``row`` is the host row that explains the stretch (the call, or the call before a pause),
    ``pause`` tells that the host was in no call.
    """

    start: Ints
    end: Ints
    activity: Bytes
    row: Ints
    pause: Flags


def host_work(timeline: Timeline, lane: Lane, steps: Steps) -> HostWork:
    """Tile a lane with activities, at least from the first step's host code to the last's."""
    loading = _annotated(timeline, lane, LOADER_ANNOTATION)
    issuing = _annotated(timeline, lane, _ISSUING_ANNOTATION)
    window = int(steps.host_start[0]), int(steps.host_end[-1])
    base = _tile(_pad(lane, *window), np.concatenate([*loading, *issuing]))
    activity = np.full(len(base.start), Activity.ISSUE, dtype=np.uint8)
    tops = _tops(timeline, lane, loading[1])
    activity[_inside(base, tops.starved_start, tops.starved_end)] = Activity.STARVED
    activity[_pauses(base)] = Activity.STARVED
    activity[_inside(base, *issuing)] = Activity.ISSUE
    activity[_inside(base, *loading)] = Activity.STARVED
    activity[_inside(base, tops.copy_start, tops.copy_end)] = Activity.COPY
    activity[_inside(base, tops.sync_start, tops.sync_end)] = Activity.SYNC
    work = HostWork(base.start, base.end, activity, base.row, base.pause)
    # A loader takes as long as its data take, now more and now less.
    return _stretch(timeline, work, steps.host_start, ~_inside(base, *loading))


class _Spans(msgspec.Struct, frozen=True):
    sync_start: Ints
    sync_end: Ints
    copy_start: Ints
    copy_end: Ints
    starved_start: Ints
    starved_end: Ints


def _annotated(timeline: Timeline, lane: Lane, prefix: str) -> tuple[Ints, Ints]:
    """Spans of a lane's annotations whose names begin with ``prefix``, merged."""
    host = timeline.host
    wanted = np.array([name.startswith(prefix) for name in timeline.names], dtype=bool)
    rows = np.flatnonzero(
        np.isin(host.kind, (HostKind.ANNOTATION, HostKind.OPERATOR))
        & np.isin(host.thread, lane.threads)
        & wanted[host.name]
    )
    return union(host.start[rows], host.end[rows])


def _pad(lane: Lane, low: int, high: int) -> Lane:
    """Add empty segments at the ends of a window, so that pauses up to them are seen."""
    if len(lane.start) == 0:
        return lane
    first, last = min(low, int(lane.start[0])), max(high, int(lane.end[-1]))
    return Lane(
        threads=lane.threads,
        start=np.concatenate([[first], lane.start, [last]]),
        end=np.concatenate([[first], lane.end, [last]]),
        leaf=np.concatenate([lane.leaf[:1], lane.leaf, lane.leaf[-1:]]),
        top=np.concatenate([lane.top[:1], lane.top, lane.top[-1:]]),
    )


def _tile(lane: Lane, marks: Ints) -> HostWork:
    """Fill the pauses between a lane's segments, cutting them at the given marks (ns)."""
    gap = np.flatnonzero(lane.start[1:] > lane.end[:-1])
    pause_start, pause_end, before = _cut(
        lane.end[gap], lane.start[gap + 1], lane.leaf[gap], np.unique(marks)
    )
    start = np.concatenate([lane.start, pause_start])
    end = np.concatenate([lane.end, pause_end])
    row = np.concatenate([lane.leaf, before])
    pause = np.zeros(len(start), dtype=bool)
    pause[len(lane.start) :] = True
    order = np.argsort(start, kind="stable")
    # The padding has done its work; as a piece of no length it would make others look stretched.
    order = order[end[order] > start[order]]
    nothing = np.zeros(len(order), dtype=np.uint8)
    return HostWork(start[order], end[order], nothing, row[order], pause[order])


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


def _inside(work: HostWork, start: Ints, end: Ints) -> Flags:
    """Tell which stretches begin within one of the sorted, disjoint spans."""
    if len(start) == 0:
        return np.zeros(len(work.start), dtype=bool)
    span = np.searchsorted(start, work.start, side="right") - 1
    return (span >= 0) & (work.start < end[np.maximum(span, 0)])


def _pauses(work: HostWork) -> Flags:
    """Tell which pauses are too long to be the interpreter's own."""
    length = work.end - work.start
    usual = np.median(length[work.pause]) if work.pause.any() else 0.0
    long = float(np.clip(_STARVED_TIMES * usual, _STARVED_NS, _LONG_PAUSE_NS))
    return np.asarray(work.pause & (length > long), dtype=bool)


def _tops(timeline: Timeline, lane: Lane, loaded: Ints) -> _Spans:
    """Find the spans of a lane that wait, copy or preprocess."""
    host = timeline.host
    calls = classify_all(timeline.names)
    mine = np.isin(host.thread, lane.threads)
    runtime = np.flatnonzero(mine & (host.kind == HostKind.RUNTIME))
    kind = calls[host.name[runtime]]
    synchronous = np.array([is_synchronous_copy(name) for name in timeline.names], dtype=bool)
    waiting = np.isin(kind, (Call.WAIT, Call.ALLOCATE)) | synchronous[host.name[runtime]]
    pageable = _held_by_copy(timeline, runtime[kind == Call.COPY])
    holding = np.setdiff1d(runtime[waiting], pageable)
    spans: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    enclosing = _Enclosing(timeline, mine, loaded)
    copied = np.sort(host.start[pageable]) if len(pageable) else np.zeros(0, dtype=np.int64)
    for row in np.concatenate([holding, pageable]):
        low, high = enclosing.waiting_operator(int(row))
        holds = bool(np.searchsorted(copied, high) > np.searchsorted(copied, low))
        spans[holds].append((low, high))
    starved = enclosing.idle_operators()
    sync, copy = (_disjoint(spans[key]) for key in (False, True))
    return _Spans(*sync, *copy, *starved)


def _held_by_copy(timeline: Timeline, copies: Ints) -> Ints:
    """Of the copy calls, those that held the host.

    Sizeable copies of pageable memory do, and prefetches of pages.
    """
    gpu = timeline.gpu
    pageable = np.array([is_pageable(name) for name in timeline.names], dtype=bool)
    rows = (gpu.kind == GpuKind.MEMCPY) & (gpu.launch >= 0) & pageable[gpu.name]
    prefetches = np.array(["MemPrefetch" in name for name in timeline.names], dtype=bool)
    return np.union1d(
        np.intersect1d(copies, gpu.launch[rows & (gpu.bytes >= SIZEABLE_COPY)]),
        copies[prefetches[timeline.host.name[copies]]],
    )


def _fetching(timeline: Timeline) -> Ints:
    """Return the calls that copy to the host."""
    gpu = timeline.gpu
    to_host = np.array([direction(name) == "DtoH" for name in timeline.names], dtype=bool)
    fetched = (gpu.kind == GpuKind.MEMCPY) & (gpu.launch >= 0) & to_host[gpu.name]
    return np.asarray(gpu.launch[fetched], dtype=np.int64)


def _disjoint(spans: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    if not spans:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    start, end = (np.array(column, dtype=np.int64) for column in zip(*sorted(spans), strict=True))
    reach = np.maximum.accumulate(end)
    opens = np.flatnonzero(np.concatenate([[True], start[1:] > reach[:-1]]))
    return start[opens], reach[np.append(opens[1:] - 1, len(start) - 1)]


class _Enclosing:
    """Answers which operator of a lane exists only for the sake of one call."""

    def __init__(self, timeline: Timeline, mine: Flags, loaded: Ints) -> None:
        """Look at the calls of a lane; ``loaded`` are the ends (ns) of its loader's spans."""
        host, gpu = timeline.host, timeline.gpu
        self._host = host
        self._loaded = loaded
        self._names = timeline.names
        self._operators = np.flatnonzero(mine & (host.kind == HostKind.OPERATOR))
        self._operator_start = host.start[self._operators]
        kernels = gpu.launch[(gpu.kind == GpuKind.KERNEL) & (gpu.launch >= 0)]
        kernels = kernels[mine[kernels]]
        launched = gpu.launch[gpu.launch >= 0]
        self._issues = np.unique(launched[mine[launched]])
        self._fetches = self._issues[np.isin(self._issues, _fetching(timeline))]
        # Recorders of CUDA alone see no operators, or only those of a library.
        self._sees_operators = 2 * len(self._operators) >= len(self._issues)
        self._kernel_issue = np.sort(host.start[kernels])
        self._any_issue = np.sort(host.start[launched[mine[launched]]])

    def waiting_operator(self, call: int) -> tuple[int, int]:
        """Bounds (ns) of the outermost operator around a call that launches no kernel.

        ``aten::item`` exists only to fetch a value: all of it is the cost of the wait, and so
        are the operators just before it that launch nothing (the indexing that picks the value).
        """
        host = self._host
        low, high = int(host.start[call]), int(host.end[call])
        position = int(np.searchsorted(self._operators, call))
        for index in range(position - 1, max(position - 64, -1), -1):
            operator = self._operators[index]
            start, end = int(host.start[operator]), int(host.end[operator])
            if end < int(host.end[call]) or host.thread[operator] != host.thread[call]:
                continue
            issued = np.searchsorted(self._kernel_issue, (start, end))
            if issued[1] > issued[0]:
                break
            low, high = min(low, start), max(high, end)
        prepared = self._preparation(low, int(host.thread[call]))
        alone = prepared == int(host.start[call]) and not self._sees_operators
        return self._since_issue(call) if alone else prepared, high

    def _since_issue(self, call: int) -> int:
        """Begin (ns) of what a fetch of a value takes, where operators were not recorded.

        A fetch is a copy to the host and the wait for it. All that the host did since it issued
        the work before that, was for its sake.
        """
        host = self._host
        begin = int(host.start[call])
        before = int(np.searchsorted(self._issues, call, side="right")) - 1
        if before < 0 or not np.isin(self._issues[before], self._fetches):
            return begin
        # A longer pause may be one of the input pipeline.
        if begin - int(host.end[self._issues[before]]) >= _STARVED_NS:
            return begin
        begin = int(host.start[self._issues[before]])
        since = int(host.end[self._issues[before - 1]]) if before > 0 else begin
        return since if 0 <= begin - since < _STARVED_NS else begin

    def _preparation(self, low: int, thread: int) -> int:
        """Move the start of a wait back over the operators that only prepare it.

        Not over one that is work of its own, nor over a long pause, nor into the data loader: what
        made the batch that is copied was no part of copying it.
        """
        host = self._host
        position = int(np.searchsorted(self._operator_start, low))
        issued = int(np.searchsorted(self._any_issue, low))
        loaded = int(np.searchsorted(self._loaded, low, side="right"))
        since = max(
            int(self._any_issue[issued - 1]) if issued else 0,
            int(self._loaded[loaded - 1]) if loaded else 0,
        )
        begin = low
        for operator in self._operators[max(position - _PREPARATION, 0) : position][::-1]:
            start, end = int(host.start[operator]), int(host.end[operator])
            if start <= since or begin - end >= _STARVED_NS:
                break
            if host.thread[operator] != thread:
                continue
            if end - start > _CPU_WORK_NS:
                return max(begin, end) if end <= low else begin
            begin = start
        return begin

    def idle_operators(self) -> tuple[Ints, Ints]:
        """Spans of long operators that issue nothing, and of the framework's data loader."""
        host, rows = self._host, self._operators
        start, end = host.start[rows], host.end[rows]
        issued = np.searchsorted(self._any_issue, end) - np.searchsorted(self._any_issue, start)
        idle = (issued == 0) & (end - start > _CPU_WORK_NS)
        return _disjoint(list(zip(start[idle].tolist(), end[idle].tolist(), strict=True)))


def _stretch(timeline: Timeline, work: HostWork, step_start: Ints, comparable: Flags) -> HostWork:
    """Mark the stretches that take far longer than the same piece of work does elsewhere."""
    length = work.end - work.start
    piece = _piece(timeline, work)
    usual = _lower_quartile(piece, length)
    if len(step_start) > 1:
        # What is long at the same place of every step is long by nature, not by contention.
        usual = np.maximum(usual, _shortest_at_same_place(work, piece, length, step_start))
    if _pauses_are_everywhere(work, len(step_start)):
        usual = np.where(work.pause, np.percentile(length[work.pause], 10), usual)
    elif len(step_start) == 1:
        # A lone pause of a lone step may well be at the same place of every step.
        comparable = comparable & ~work.pause
    stretched = length > np.maximum(usual + _STRETCHED_NS, _STRETCHED_TIMES * usual)
    stretched &= comparable & np.isin(work.activity, (Activity.ISSUE, Activity.STARVED))
    activity = work.activity.copy()
    activity[stretched] = Activity.STRETCHED
    return HostWork(work.start, work.end, activity, work.row, work.pause)


def _pauses_are_everywhere(work: HostWork, steps: int) -> bool:
    long = (work.end - work.start)[work.pause] > _LONG_PAUSE_NS
    least = max(_EVERYWHERE * len(long), _EVERYWHERE_LEAST * steps)
    return float(long.sum()) > least


def _piece(timeline: Timeline, work: HostWork) -> Ints:
    """Number the pieces of work: the same call, or the pause between the same two calls."""
    name = timeline.host.name[work.row].astype(np.int64)
    following = np.append(name[1:], -1)
    key = np.where(work.pause, (name + 1) * (len(timeline.names) + 1) + following + 1, -name - 1)
    # A pause before the first call follows none, so it is like no other.
    key[:1] = np.where(work.pause[:1], 0, key[:1])
    return np.asarray(np.unique(key, return_inverse=True)[1], dtype=np.int64)


def _lower_quartile(group: Ints, length: Ints) -> Ints:
    """Lower quartile of the lengths within each group, for every member."""
    order = np.lexsort((length, group))
    first = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 1))
    count = np.diff(np.append(first, len(order)))
    return np.asarray(length[order[first + count // 4]][group], dtype=np.int64)


def _shortest_at_same_place(work: HostWork, piece: Ints, length: Ints, step_start: Ints) -> Ints:
    """Shortest length over the steps of the n-th occurrence of each piece in a step."""
    step = np.searchsorted(step_start, work.start, side="right")
    order = np.lexsort((work.start, step, piece))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(piece[order]) != 0) | (np.diff(step[order]) != 0)
    begin = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    ordinal = np.empty(len(order), dtype=np.int64)
    ordinal[order] = np.arange(len(order)) - begin
    # Number the places densely: each piece has as many as it occurs in the fullest step.
    most = np.zeros(int(piece.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, piece, ordinal + 1)
    place = (np.cumsum(most) - most)[piece] + ordinal
    shortest = np.full(int(most.sum()), np.iinfo(np.int64).max)
    np.minimum.at(shortest, place, length)
    seen = np.bincount(place)
    # A place that only one step reached has nothing to be compared with.
    return np.where(seen[place] > 1, shortest[place], 0)
