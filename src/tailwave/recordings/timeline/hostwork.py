"""What kind of work a lane did at each moment.

Each stretch of a lane is one *Activity*: issuing GPU work, waiting for the GPU, held by a copy,
at work that launches nothing, and so on. Whatever is not issuing is time that the host lost; if the
GPU runs dry because the host is late, that lost time is the reason.

The calls that put work on a GPU or wait for it are the joints. What lies between two of them, less
the operators that exist to make them, is the interpreter's time and operators that launch nothing.
A little of it is part of what issuing costs; more is work of its own.
"""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, GpuKind, HostKind, Ints, SmallInts, Timeline
from tailwave.recordings.timeline.calls import (
    SIZEABLE_COPY,
    Call,
    classify_all,
    direction,
    is_pageable,
    is_prefetch,
    is_synchronous_copy,
)
from tailwave.recordings.timeline.intervals import covered, union
from tailwave.recordings.timeline.lanes import Lane
from tailwave.recordings.timeline.scopes import (
    named,
    outermost,
    quiet,
    side_by_side,
    without,
)
from tailwave.recordings.timeline.startup import start_up
from tailwave.recordings.timeline.steps import Steps
from tailwave.recordings.timeline.stretched import (
    STRETCHED_NS,
    at_every_place,
    is_stretched,
    runs_python,
)
from tailwave.recordings.timeline.tiles import Tiles, inside, pieces, tile

# More than this (ns) between two calls is work of its own. In each of sixty recordings of models
# without a planted stall, some of a slow host, 99% of what lies between two calls takes less, the
# profiler's cost included.
_OWN_WORK_NS = 500_000
# An operator that makes no call and takes longer than this (ns) computes; views and arithmetic of
# shapes take a few microseconds, under the profiler some twenty.
_COMPUTES_NS = 100_000
# Python's own work inside these annotations (gathering parameters, say) issues the step.
_ISSUING_ANNOTATION = "Optimizer."
# The framework's data loader marks its own time, however short.
LOADER_ANNOTATION = "enumerate(DataLoader)"


class Activity(enum.IntEnum):
    """What a lane was doing."""

    ISSUE = 0  # operators and launches, with the interpreter's time between them
    SYNC = 1  # waiting for the GPU, with the operator that exists only to wait
    COPY = 2  # held by a copy of pageable memory
    STARVED = 3  # at work that launches nothing: input pipeline, preprocessing, sampling, sleep
    STRETCHED = 4  # issuing, but the same piece of work takes far less time elsewhere
    STARTUP = 5  # context creation, module loading, first-call compilation


# What an idle GPU is told to have waited for: a finding's code, and words.
HOST_CAUSES: dict[Activity, tuple[str, str]] = {
    Activity.ISSUE: ("launch-bound", "idle, waiting for launches"),
    Activity.SYNC: ("host-sync", "idle after the host waited"),
    Activity.COPY: ("blocking-copy", "idle after a copy held the host"),
    Activity.STARVED: ("host-starved", "idle, host at work that launches nothing"),
    Activity.STRETCHED: ("host-contention", "idle, host work stretched"),
    Activity.STARTUP: ("start-up", "idle, the program starts up"),
}


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


class _Rows(msgspec.Struct, frozen=True):
    """What host rows are by themselves: arrays by host row, and rows that mark spans.

    ``joint`` tells the calls that put work on a GPU or wait for it, ``alone`` the operators in
    which no kernel is launched, ``computes`` those that are work of their own. ``busy`` is when
    GPUs are at work (ns).
    """

    activity: Bytes
    joint: Flags
    alone: Flags
    computes: Flags
    loading: Ints
    issuing: Ints
    compiling: Ints
    started: int
    busy: tuple[Ints, Ints]
    python: bool


def host_work(timeline: Timeline, lanes: list[Lane], steps: Steps) -> tuple[HostWork, ...]:
    """Tile lanes with activities, at least from the first step's host code to the last's."""
    rows = _rows(timeline)
    return tuple(_lane_work(timeline, lane, steps, rows) for lane in lanes)


def _rows(timeline: Timeline) -> _Rows:
    host, gpu = timeline.host, timeline.gpu
    call = classify_all(timeline.names)[host.name]
    runtime = host.kind == HostKind.RUNTIME
    starts = start_up(timeline)
    joint = runtime & ((call != Call.OTHER) | starts.rows)
    joint &= ~np.isin(call, (Call.STREAM_WAIT, Call.RECORD)) | starts.rows
    joint[gpu.launch[gpu.launch >= 0]] = True
    held = _held(timeline, call, joint)
    joint[np.concatenate(list(held.values()))] = True
    offset = side_by_side(timeline, tuple(range(len(timeline.threads))))
    alone = quiet(timeline, np.flatnonzero(host.kind == HostKind.OPERATOR), offset)
    idle = without(timeline, np.flatnonzero(joint), alone, offset)
    long = outermost(timeline, idle[(host.end - host.start)[idle] > _COMPUTES_NS], offset)
    computes = idle[long.around(timeline, idle, offset) >= 0]
    activity = np.full(len(host), Activity.ISSUE, dtype=np.uint8)
    inner = np.append(alone, np.flatnonzero(runtime))
    scope = outermost(timeline, alone, offset).around(timeline, inner, offset)
    for kind, calls in held.items():
        activity[calls] = kind
        # An operator that launches nothing exists for the sake of the call in it.
        serving = np.unique(scope[np.isin(inner, calls)])
        activity[inner[np.isin(scope, serving[serving >= 0])]] = kind
    activity[runtime & starts.rows] = Activity.STARTUP
    loads, issues = (
        np.array([name.startswith(prefix) for name in timeline.names], dtype=bool)
        for prefix in (LOADER_ANNOTATION, _ISSUING_ANNOTATION)
    )
    marks = (HostKind.ANNOTATION, HostKind.OPERATOR)
    return _Rows(
        activity=activity,
        joint=joint,
        alone=_flags(len(host), alone),
        computes=_flags(len(host), computes),
        loading=named(timeline, loads, marks),
        issuing=named(timeline, issues, marks),
        compiling=np.flatnonzero(starts.rows & ~runtime),
        started=starts.until,
        busy=union(gpu.start, gpu.end),
        python=runs_python(timeline),
    )


def _held(timeline: Timeline, call: Bytes, joint: Flags) -> dict[Activity, Ints]:
    """Runtime calls that hold the host: those that wait for the GPU, and those that copy."""
    host, gpu = timeline.host, timeline.gpu
    runtime = host.kind == HostKind.RUNTIME
    synchronous, prefetch, pageable, to_host = (
        np.array([tell(name) for name in timeline.names], dtype=bool)
        for tell in (
            is_synchronous_copy,
            is_prefetch,
            is_pageable,
            lambda name: direction(name) == "DtoH",
        )
    )
    copies = (gpu.kind == GpuKind.MEMCPY) & (gpu.launch >= 0)
    sizeable = gpu.bytes >= SIZEABLE_COPY
    copying = runtime & prefetch[host.name]
    copying[gpu.launch[copies & sizeable & pageable[gpu.name]]] = True
    waiting = runtime & (np.isin(call, (Call.WAIT, Call.ALLOCATE)) | synchronous[host.name])
    # Fetching a value is a copy to the host and the wait for it.
    fetching = np.zeros(len(host), dtype=bool)
    fetching[gpu.launch[copies & ~sizeable & to_host[gpu.name]]] = True
    joints = np.flatnonzero(joint)
    joints = joints[np.argsort(host.thread[joints], kind="stable")]
    then = np.append(joints[1:], joints[:1])
    waits = (call[then] == Call.WAIT) & (host.thread[then] == host.thread[joints])
    waits &= host.start[then] - host.end[joints] < _OWN_WORK_NS
    waiting[joints[fetching[joints] & waits]] = True
    return {
        Activity.SYNC: np.flatnonzero(waiting & ~copying),
        Activity.COPY: np.flatnonzero(copying),
    }


def _lane_work(timeline: Timeline, lane: Lane, steps: Steps, rows: _Rows) -> HostWork:
    loading, issuing, compiling = (
        _spans(timeline, lane, marked) for marked in (rows.loading, rows.issuing, rows.compiling)
    )
    window = int(steps.host_start[0]), int(steps.host_end[-1])
    marks = np.concatenate([*loading, *issuing, *compiling, [rows.started]])
    base = tile(lane, window, marks)
    activity = np.where(base.pause, Activity.ISSUE, rows.activity[base.row]).astype(np.uint8)
    loader, optimiser = inside(base, *loading), inside(base, *issuing)
    activity[inside(base, *compiling) | (base.start < rows.started)] = Activity.STARTUP
    # The own time of an operator that makes such a call goes into making it.
    began = lane.parent[rows.activity[lane.leaf] == Activity.STARTUP]
    activity[~base.pause & np.isin(base.row, began)] = Activity.STARTUP
    makes = ~base.pause & np.isin(base.row, lane.parent[rows.joint[lane.leaf]])
    joint = ~base.pause & rows.joint[base.row]
    between = ~(joint | makes) & (activity != Activity.STARTUP)
    between &= ~(loader | optimiser)
    place = np.cumsum(joint)
    spent = np.bincount(place, weights=(base.end - base.start) * between, minlength=1)
    own = between & (spent[place] > _OWN_WORK_NS)
    own |= between & ~base.pause & rows.computes[base.row]
    activity[own | (loader & (activity == Activity.ISSUE))] = Activity.STARVED
    # Operators just before a wait that launch nothing pick the value it fetches.
    alone = ~base.pause & rows.alone[base.row]
    ends = _leads_to(timeline.host.thread[base.row], between & ~own, alone, joint | own)
    waits = (ends >= 0) & np.isin(activity[ends], (Activity.SYNC, Activity.COPY))
    activity[waits] = activity[ends[waits]]
    if rows.python:
        # A loader and an operator that computes take as long as their data take.
        comparable = ~loader & (base.pause | ~rows.alone[base.row])
        comparable &= np.isin(activity, (Activity.ISSUE, Activity.STARVED))
        activity[comparable & _stretched(timeline, base, steps, rows)] = Activity.STRETCHED
    return HostWork(base.start, base.end, activity, base.row, base.pause)


def _leads_to(thread: SmallInts, between: Flags, first: Flags, bound: Flags) -> Ints:
    """Give for each stretch the next bound, if its thread got to it from such a ``first``, else -1.

    All that is ``between`` from the first on counts, on the bound's own thread.
    """
    ends = np.append(np.flatnonzero(bound), -1)[np.cumsum(bound)]
    between = between & (ends >= 0) & (thread == thread[ends])
    begun = np.flatnonzero(between & first)
    since = np.full(len(bound) + 1, len(bound))
    np.minimum.at(since, ends[begun], begun)
    return np.where(between & (np.arange(len(bound)) >= since[ends]), ends, -1)


def _stretched(timeline: Timeline, base: Tiles, steps: Steps, rows: _Rows) -> Flags:
    """Tell which stretches take far longer than the same piece of work does elsewhere."""
    length = base.end - base.start
    piece = pieces(timeline, base)
    stretched = is_stretched(piece, base.start, length, steps.host_start)
    own = length > _OWN_WORK_NS
    if at_every_place(piece[base.pause], own[base.pause], length[base.pause], len(steps)):
        stretched |= base.pause & own
    elif len(steps) == 1:
        # A lone pause of a lone step may well be at the same place of every step.
        stretched &= ~base.pause
    # A call that the full queue of a busy GPU holds is not stretched, and costs nothing.
    long = np.flatnonzero(stretched)
    at_work = covered(*rows.busy, base.end[long]) - covered(*rows.busy, base.start[long])
    stretched[long] = length[long] - at_work > STRETCHED_NS
    return stretched


def _flags(count: int, rows: Ints) -> Flags:
    flags = np.zeros(count, dtype=bool)
    flags[rows] = True
    return flags


def _spans(timeline: Timeline, lane: Lane, rows: Ints) -> tuple[Ints, Ints]:
    """Spans of those of the host rows that are on a lane, merged."""
    host = timeline.host
    mine = rows[np.isin(host.thread[rows], lane.threads)]
    return union(host.start[mine], host.end[mine])
