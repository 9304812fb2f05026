"""Where each microsecond of the steps went, seen from the GPU.

A step is time in which kernels ran, time in which only copies or migrating pages did, and idle
gaps. A gap is walked back from its end, along what bound the work that ended it: first from its
start to the moment at which its launch had arrived (nothing recorded kept the
work), then, a launch's latency earlier, along the host thread that launched it, through whatever
that was doing, for as long as the gap is. So a gap is charged to what the host did in its time and
to nothing that happened earlier, but for one thing: a host that had to wait for the GPU, or for a
copy, issues what follows that much later than it could have. The issuing that follows a wait within
one gap is the wait's, up to the wait's length.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec
import numpy as np

from tailwave.model import Bytes, GpuKind, Ints
from tailwave.recordings.timeline.calls import crosses_link, is_graph_launch
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import HOST_CAUSES, Activity, HostWork
from tailwave.recordings.timeline.intervals import overlap, union, union_of
from tailwave.recordings.timeline.launches import LONGEST_LATENCY_NS
from tailwave.recordings.timeline.losses import communication
from tailwave.recordings.timeline.migrations import migrations


class Cause(enum.IntEnum):
    """What a piece of a step was spent on; the pieces of a step add up to the step."""

    KERNEL = 0  # at least one kernel, memset or copy within the GPU ran
    COLLECTIVE = 1  # of kernels only collectives ran
    RANKS = 2  # only collectives ran, in which another rank had not begun
    COPY = 3  # only copies over the host link ran
    MIGRATION = 4  # only pages of managed memory moved
    LAUNCH = 5  # idle: the host was issuing, too slowly
    SYNC = 6  # idle: the host waited for the GPU, or issued what it could not while it waited
    BLOCKED_COPY = 7  # idle: a copy held the host, as above
    STARVED = 8  # idle: the host was at work that launches nothing
    CONTENTION = 9  # idle: host work was stretched
    STARTUP = 10  # idle: context creation, module loading, first-call compilation
    LATENCY = 11  # idle: the GPU switched from one piece of work to the next
    GRAPH = 12  # idle: a hole between two nodes of one graph launch
    QUEUED = 13  # idle: launched, not begun, and nothing that is recorded kept it
    UNKNOWN = 14  # idle: the launch that ended the gap is not in the recording


_BY_ACTIVITY = {
    Activity.ISSUE: Cause.LAUNCH,
    Activity.SYNC: Cause.SYNC,
    Activity.COPY: Cause.BLOCKED_COPY,
    Activity.STARVED: Cause.STARVED,
    Activity.STRETCHED: Cause.CONTENTION,
    Activity.STARTUP: Cause.STARTUP,
}
# The code of each share in documents, which is that of the finding it leads to, and its words.
LABELS = {
    Cause.KERNEL: ("kernels", "kernels at work"),
    Cause.COLLECTIVE: ("collectives", "only collectives (NCCL, RCCL)"),
    Cause.RANKS: ("straggler", "collectives, waiting for another rank"),
    Cause.COPY: ("copies", "only copies"),
    Cause.MIGRATION: ("page-migration", "only pages of managed memory moving"),
    Cause.LATENCY: ("gpu-latency", "switching from kernel to kernel"),
    Cause.GRAPH: ("graph-holes", "holes inside a graph launch"),
    Cause.QUEUED: ("queued", "idle, work launched but not begun: what kept it is not recorded"),
    Cause.UNKNOWN: ("unknown", "idle, launch not recorded"),
    **{_BY_ACTIVITY[activity]: words for activity, words in HOST_CAUSES.items()},
}


_CAUSE_OF = np.array([_BY_ACTIVITY[activity] for activity in Activity], dtype=np.uint8)


class Pieces(msgspec.Struct, frozen=True):
    """Idle time by gap and cause, one row each.

    ``gpu_row`` is the work that ended the gap (-1: none did in the step). ``lane`` and ``stretch``
    name the piece of host work in ``case.work``; -1 where the gap is not the host's.
    """

    step: Ints
    cause: Bytes
    ns: Ints
    gpu_row: Ints
    lane: Ints
    stretch: Ints


class Division(msgspec.Struct, frozen=True):
    """The division of every step: ``ns`` has one row per step and one column per Cause."""

    ns: Ints
    pieces: Pieces

    def us(self, cause: Cause) -> float:
        """Time of the mean step that went to a cause (us)."""
        return float(self.ns[:, cause].mean()) / 1e3


# Step, cause, ns, GPU row, lane and stretch of some pieces.
_Columns: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints, Ints]


class _Gaps(msgspec.Struct, frozen=True):
    """Idle time of the device, cut at the bounds of steps. ``row`` ends a gap; -1 for none."""

    step: Ints
    start: Ints
    end: Ints
    row: Ints


def divide(case: Case) -> Division:
    """Divide every step of a case."""
    gpu = case.timeline.gpu
    rows = np.flatnonzero(gpu.device == case.device.index)
    gaps = _gaps(case, rows)
    pieces = _walk(case, gaps, rows)
    table = _busy(case, rows)
    np.add.at(table, (pieces.step, pieces.cause), pieces.ns)
    return Division(table, pieces)


def _busy(case: Case, rows: Ints) -> Ints:
    """Fill in the causes that are time in which the GPU was at work."""
    timeline, steps = case.timeline, case.steps
    gpu, names = timeline.gpu, timeline.names
    low, high = steps.complete_from, steps.complete_to
    copied = gpu.kind[rows] == GpuKind.MEMCPY
    pages = migrations(timeline)[rows]
    over_link = np.array([crosses_link(name) for name in names], dtype=bool)[gpu.name[rows]]
    computing = ~pages & ~(copied & over_link)
    table = np.zeros((len(steps), len(Cause)), dtype=np.int64)
    reached = np.zeros(len(steps), dtype=np.int64)
    transfer = gpu.start + case.rank_waited
    for cause, included, start in (
        (Cause.KERNEL, computing & ~communication(timeline)[rows], gpu.start),
        (Cause.COLLECTIVE, computing, transfer),
        (Cause.RANKS, computing, gpu.start),
        (Cause.COPY, ~pages, gpu.start),
        (Cause.MIGRATION, np.ones(len(rows), dtype=bool), gpu.start),
    ):
        chosen = rows[included]
        covered = overlap(*union_of(start[chosen], gpu.end[chosen]), low, high)
        table[:, cause] = covered - reached
        reached = covered
    return table


def _gaps(case: Case, rows: Ints) -> _Gaps:
    """Find the gaps of the device within the steps, which follow each other without a pause."""
    gpu, steps = case.timeline.gpu, case.steps
    busy_start, busy_end = union(gpu.start[rows], gpu.end[rows])
    first, last = int(steps.complete_from[0]), int(steps.complete_to[-1])
    # One gap before each busy stretch, and one after the last; cut where a step ends within.
    start = np.concatenate([[min(first, busy_start.min(initial=first))], busy_end])
    end = np.concatenate([busy_start, [max(last, busy_end.max(initial=last))]])
    ender = np.append(rows[np.searchsorted(gpu.start[rows], busy_start)], -1)
    marks = np.append(steps.complete_from, last)
    within = np.searchsorted(end, marks, side="left")
    cut = (marks > start[np.minimum(within, len(start) - 1)]) & (within < len(start))
    begins = np.sort(np.concatenate([start, marks[cut]]))
    of = np.searchsorted(start, begins, side="right") - 1
    ends = np.minimum(end[of], np.append(begins[1:], np.iinfo(np.int64).max))
    step = np.searchsorted(steps.complete_from, begins, side="right") - 1
    keep = (ends > begins) & (begins >= first) & (ends <= last)
    return _Gaps(step[keep], begins[keep], ends[keep], ender[of[keep]])


def _walk(case: Case, gaps: _Gaps, rows: Ints) -> Pieces:
    timeline = case.timeline
    gpu, host = timeline.gpu, timeline.host
    work_ended = gaps.row >= 0
    launch = np.where(work_ended, gpu.launch[gaps.row], -1)
    called, returned = np.zeros(len(launch), dtype=np.int64), np.zeros(len(launch), dtype=np.int64)
    known = launch >= 0
    called[known], returned[known] = host.start[launch[known]], host.end[launch[known]]
    begun = np.where(work_ended, gpu.start[gaps.row], 0)
    # A gap that no work of the host ends (the last one, and that of migrating pages) is what the
    # host did meanwhile; else the host's time is read a launch's latency earlier.
    alone = ~work_ended | migrations(timeline)[gaps.row]
    latency = np.clip(np.where(alone, 0, begun - called), 0, case.launch_latency)
    # A call that takes long submits its work at its end.
    ready = np.where(alone, gaps.end, np.maximum(called + latency, returned))
    ready = np.clip(ready, gaps.start, gaps.end)
    unknown = ~alone & (launch < 0)
    ready = np.where(unknown, gaps.start, ready)
    waiting = np.where(unknown, Cause.UNKNOWN, _waiting(case, gaps, rows, gaps.end - ready))
    lane_of = np.zeros(len(timeline.threads), dtype=np.int64)
    for number, line in enumerate(case.lanes):
        lane_of[list(line.threads)] = number
    lane = np.zeros(len(launch), dtype=np.int64)
    lane[known] = lane_of[host.thread[launch[known]]]
    found = [_pieces(gaps, np.arange(len(gaps.step)), waiting, gaps.end - ready)]
    for number in range(len(case.work)):
        mine = np.flatnonzero((lane == number) & (ready > gaps.start))
        found.append(_host_pieces(case, gaps, mine, latency[mine], ready[mine], number))
    if not case.work:  # a recording of the GPU alone
        found.append(_pieces(gaps, np.arange(len(gaps.step)), Cause.UNKNOWN, ready - gaps.start))
    columns = (np.concatenate(column) for column in zip(*found, strict=True))
    step, cause, ns, row, lane, stretch = columns
    keep = ns > 0
    return Pieces(
        step[keep], cause[keep].astype(np.uint8), ns[keep], row[keep], lane[keep], stretch[keep]
    )


def _waiting(case: Case, gaps: _Gaps, rows: Ints, ns: Ints) -> Ints:
    """For each gap the cause of the time (ns) after the work that ends it had arrived."""
    gpu = case.timeline.gpu
    launch, host = gpu.launch[gaps.row], case.timeline.host
    graphs = np.array([is_graph_launch(name) for name in case.timeline.names], dtype=bool)
    graph = launch >= 0
    graph[graph] = graphs[host.name[launch[graph]]]
    # A graph whose stream is free begins at once: a hole before its first recorded node is one of
    # its own, made by a node that is not recorded. Only of a stream's first work that is not known.
    first = rows[np.unique(gpu.stream[rows], return_index=True)[1]]
    node = graph & ~np.isin(gaps.row, first)
    return np.where(
        ns <= LONGEST_LATENCY_NS, Cause.LATENCY, np.where(node, Cause.GRAPH, Cause.QUEUED)
    )


def _pieces(gaps: _Gaps, of: Ints, cause: Ints | Cause, ns: Ints) -> _Columns:
    none = np.full(len(of), -1, dtype=np.int64)
    causes = np.broadcast_to(np.asarray(cause, dtype=np.int64), len(of))
    return gaps.step[of], causes, ns, gaps.row[of], none, none


def _host_pieces(  # noqa: PLR0913 - the walk's state, column by column
    case: Case, gaps: _Gaps, mine: Ints, latency: Ints, ready: Ints, lane: int
) -> _Columns:
    """Read what a lane was doing, a launch's latency before some gaps."""
    work = case.work[lane]
    low, high = gaps.start[mine] - latency, ready - latency
    first = np.searchsorted(work.end, low, side="right")
    count = np.maximum(np.searchsorted(work.start, high, side="left") - first, 0)
    gap = np.repeat(np.arange(len(mine)), count)
    within = np.arange(len(gap)) - np.repeat(np.cumsum(count) - count, count)
    stretch = first[gap] + within
    ns = np.minimum(work.end[stretch], high[gap]) - np.maximum(work.start[stretch], low[gap])
    cause = _CAUSE_OF[work.activity[stretch]]
    held, wait = _after_waits(case, cause, ns, stretch, work)
    # What lies outside the lane's tiles is issuing.
    rest = (high - low) - np.bincount(gap, weights=ns, minlength=len(mine)).astype(np.int64)
    ns -= held
    own, waited, left = (np.flatnonzero(part) for part in (ns, held, rest))
    of = np.concatenate([gap[own], gap[waited], left])
    return (
        gaps.step[mine][of],
        np.concatenate(
            [cause[own], _CAUSE_OF[work.activity[wait[waited]]], np.full(len(left), Cause.LAUNCH)]
        ),
        np.concatenate([ns[own], held[waited], rest[left]]),
        gaps.row[mine][of],
        np.full(len(of), lane),
        np.concatenate([stretch[own], wait[waited], np.full(len(left), -1)]),
    )


def _after_waits(
    case: Case, cause: Bytes, ns: Ints, stretch: Ints, work: HostWork
) -> tuple[Ints, Ints]:
    """Find what of the idle time of each piece the waits before it are to blame for.

    Had the host not waited, it would have issued all that follows earlier by as much, but no more
    than a step earlier. Returns that time (ns) and the stretch that is the last such wait.
    """
    waits = np.isin(work.activity, (Activity.SYNC, Activity.COPY))
    waits &= work.start >= case.steps.host_start[0]
    at = np.flatnonzero(waits)
    last = np.searchsorted(at, stretch, side="right") - 1
    issued = np.flatnonzero((cause == Cause.LAUNCH) & (last >= 0))
    issued = issued[np.argsort(last[issued], kind="stable")]
    idle = np.bincount(last[issued], weights=ns[issued], minlength=len(at))
    most = float(case.steps.duration.mean())
    lead, leads = 0.0, np.zeros(len(at))
    for number, (held, used) in enumerate(
        zip((work.end - work.start)[at].tolist(), idle.tolist(), strict=True)
    ):
        leads[number] = lead = min(lead + held, most)
        lead -= min(lead, used)
    before = np.cumsum(ns[issued]) - ns[issued]
    before -= before[np.searchsorted(last[issued], last[issued])]
    late = np.zeros(len(ns), dtype=np.int64)
    late[issued] = np.clip(leads[last[issued]].astype(np.int64) - before, 0, ns[issued])
    wait = stretch.copy()
    wait[issued] = at[last[issued]]
    return late, wait
