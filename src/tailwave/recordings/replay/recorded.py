"""Turns a recording into the program whose run gives the recorded times back."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, HostKind, Ints, Timeline
from tailwave.recordings.replay.pages import with_pages
from tailwave.recordings.replay.program import Program, expanded
from tailwave.recordings.replay.timing import NEVER, row_timing
from tailwave.recordings.timeline.calls import Call, classify_all, is_device_wait
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.intervals import overlap
from tailwave.recordings.timeline.launches import filled_in_streams, issued
from tailwave.recordings.timeline.migrations import launched

# A launch call that takes this long (ns) beside a backlog was held by the full queue.
_HELD_CALL_NS = 50_000
_BACKLOG_ROWS = 500
# The host needs this long (ns) to notice that what it waits for is done, where unknown.
_WAKE_NS = 5_000


class _Actions(msgspec.Struct, frozen=True):
    lane: Ints
    start: Ints
    end: Ints
    host_row: Ints
    mark: Ints


def compile_program(case: Case) -> Program:
    """Turn a recording into a program; its run reproduces the recorded times."""
    (timeline, kept), steps = launched(case.timeline), case.steps
    actions = _actions(case)
    order, rows = _issue_order(timeline, actions)
    position = np.full(len(timeline.gpu), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    targets, target_row, target_lag, hold = _waits(timeline, actions, position)
    timing = row_timing(
        timeline, case.launch_latency, order, position, _issued_at(actions, rows, len(order))
    )
    streams = np.unique(
        np.column_stack([timeline.gpu.device[order], timeline.gpu.stream[order]]),
        axis=0,
        return_inverse=True,
    )[1].ravel()
    gpu_step = steps.gpu_step[kept[order]]
    step = np.searchsorted(steps.host_start, actions.start, side="right") - 1
    # The work before the last boundary is the last step's; what follows it is no step's.
    step[(actions.start >= steps.host_end[-1]) & (actions.mark < 0)] = len(steps)
    program = Program(
        lane=actions.lane,
        work=_work(case, actions),
        logged=_logged(case, actions),
        hold=hold,
        rows=rows,
        targets=targets,
        target_row=target_row,
        target_lag=target_lag,
        mark=actions.mark,
        step=step,
        host_row=actions.host_row,
        activity=_activity(case, actions),
        lane_start=_lane_starts(actions),
        row=kept[order],
        row_step=gpu_step,
        stream=streams.astype(np.int64),
        duration=(timeline.gpu.end - timeline.gpu.start)[order],
        latency=timing.latency,
        gap=timing.gap,
        dep=timing.dep,
        dep_lag=timing.dep_lag,
        dep_kind=timing.dep_kind,
        issue=_fixed_starts(timeline, order, rows),
        counts=timeline.gpu.device[order] == case.device.index,
        opens=int(steps.complete_from[0]),
        weight=np.ones(len(steps)),
    )
    return with_pages(case, program)


def _actions(case: Case) -> _Actions:
    """Collect launches, holding calls and step boundaries of every lane, in order."""
    timeline, steps = case.timeline, case.steps
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = host.kind == HostKind.RUNTIME
    wanted = runtime & np.isin(calls[host.name], (Call.WAIT, Call.ALLOCATE))
    wanted[gpu.launch[gpu.launch >= 0]] = True
    lane_of = np.full(len(timeline.threads), -1, dtype=np.int64)
    for number, lane in enumerate(case.lanes):
        lane_of[list(lane.threads)] = number
    rows = np.flatnonzero(wanted & (lane_of[host.thread] >= 0))
    boundary = np.append(steps.host_start, steps.host_end[-1])
    lanes = np.concatenate([lane_of[host.thread[rows]], np.zeros(len(boundary), dtype=np.int64)])
    start = np.concatenate([host.start[rows], boundary])
    end = np.concatenate([host.end[rows], boundary])
    mark = np.concatenate([np.full(len(rows), -1), np.arange(len(boundary))])
    host_row = np.concatenate([rows, np.full(len(boundary), -1)])
    # A step boundary comes before a call that begins at the same moment.
    order = np.lexsort((mark < 0, start, lanes))
    lanes, start, end = lanes[order], start[order], end[order]
    for number in range(len(case.lanes)):
        mine = lanes == number
        reach = np.maximum.accumulate(end[mine])
        start[mine] = np.maximum(start[mine], np.concatenate([[NEVER], reach[:-1]]))
        end[mine] = np.maximum(end[mine], start[mine])
    return _Actions(lanes, start, end, host_row[order], mark[order])


def _lane_starts(actions: _Actions) -> Ints:
    """Start of each lane's first action; there is one lane at least, that of the boundaries."""
    return actions.start[np.unique(actions.lane, return_index=True)[1]]


def _work(case: Case, actions: _Actions) -> Ints:
    """Host time before each action since the one before it, by activity."""
    table = np.zeros((len(actions.lane), len(Activity)), dtype=np.int64)
    follows = np.flatnonzero(np.diff(actions.lane, prepend=-1) == 0)
    low, high = actions.end[follows - 1], actions.start[follows]
    for lane, work in enumerate(case.work):
        mine = actions.lane[follows] == lane
        for activity in Activity:
            of_kind = work.activity == activity
            spent = overlap(work.start[of_kind], work.end[of_kind], low[mine], high[mine])
            table[follows[mine], activity] = spent
    # What no activity covers is issuing, so that the sum is the recorded time.
    table[follows, Activity.ISSUE] += (high - low) - table[follows].sum(axis=1)
    return table


def _logged(case: Case, actions: _Actions) -> Ints:
    """Rows of each HostKind but annotations that began since the action before in the lane."""
    host = case.timeline.host
    table = np.zeros((len(actions.lane), 3), dtype=np.int64)
    kinds = (HostKind.OPERATOR, HostKind.RUNTIME, HostKind.PYTHON)
    for number, lane in enumerate(case.lanes):
        mine = np.flatnonzero(actions.lane == number)
        own = np.isin(host.thread, lane.threads)
        for column, kind in enumerate(kinds):
            begun = host.start[own & (host.kind == kind)]
            upto = np.searchsorted(begun, actions.end[mine], side="right")
            table[mine, column] = np.diff(upto, prepend=upto[:1])
    return table


def _activity(case: Case, actions: _Actions) -> Bytes:
    """What the lane of each action was doing when it began."""
    result = np.full(len(actions.lane), Activity.ISSUE, dtype=np.uint8)
    for lane, work in enumerate(case.work):
        mine = np.flatnonzero(actions.lane == lane)
        if len(work.start):
            at = np.searchsorted(work.start, actions.start[mine], side="right") - 1
            result[mine] = work.activity[np.maximum(at, 0)]
    return result


def _issue_order(timeline: Timeline, actions: _Actions) -> tuple[Ints, Ints]:
    """GPU rows in order of issue, and each action's bounds into them.

    Work whose launch is not recorded was issued no earlier than the work before it in its stream;
    what has none before it was issued before the recording began, and comes first.
    """
    gpu = timeline.gpu
    action_of = np.full(len(timeline.host), -1, dtype=np.int64)
    by_time = np.argsort(actions.start, kind="stable")
    rank = np.empty(len(by_time), dtype=np.int64)
    rank[by_time] = np.arange(len(by_time))
    calls = actions.host_row >= 0
    action_of[actions.host_row[calls]] = rank[calls]
    known = gpu.launch >= 0
    issued_by = np.full(len(gpu), -1, dtype=np.int64)
    issued_by[known] = action_of[gpu.launch[known]]
    issued_by = filled_in_streams(timeline, issued_by, known=issued_by >= 0)
    order = np.lexsort((gpu.start, issued_by))
    issued_by = issued_by[order]
    low = np.searchsorted(issued_by, rank, side="left")
    high = np.searchsorted(issued_by, rank, side="right")
    return order, np.column_stack([low, high])


def _waits(timeline: Timeline, actions: _Actions, position: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """For each action the rows whose end it waited for, with the time to notice it.

    The row waited for is the last to have ended when the call returned, among those issued
    before the call returned. A call that found its work done keeps it as a target. A call that
    waits for the whole device has the last row of every other stream for targets too, which can
    become binding in a changed run.
    """
    gpu = timeline.gpu
    hold = actions.end - actions.start
    bounds = np.zeros((len(actions.lane), 2), dtype=np.int64)
    rows: list[int] = []
    lags: list[int] = []
    by_end = np.argsort(gpu.end, kind="stable")
    ends = gpu.end[by_end]
    issue = issued(timeline)
    holds = _may_hold(timeline, actions, ends, np.sort(issue))
    whole = np.array([is_device_wait(name) for name in timeline.names], dtype=bool)
    by_issue = np.argsort(issue, kind="stable")
    moments = issue[by_issue]
    seen = 0
    for index in np.flatnonzero(holds).tolist():
        start, end = int(actions.start[index]), int(actions.end[index])
        target = _last_done(by_end, ends, issue, start, end)
        if target < 0:
            continue
        finished = int(gpu.end[target])
        first = len(rows)
        rows.append(int(position[target]))
        lags.append(min(end - finished, max(_WAKE_NS, end - max(finished, start))))
        if finished > start:
            hold[index] = min(int(hold[index]), _WAKE_NS)
        called = actions.host_row[index]
        if called >= 0 and whole[timeline.host.name[called]]:
            # Streams without work since the wait before are done with already.
            upto = int(np.searchsorted(moments, start, side="right"))
            others = by_issue[min(seen, upto) : upto]
            others = others[(gpu.device[others] == gpu.device[target]) & (gpu.end[others] <= end)]
            last = others[::-1][np.unique(gpu.stream[others][::-1], return_index=True)[1]]
            last = last[gpu.stream[last] != gpu.stream[target]]
            rows += position[last].tolist()
            lags += [0] * len(last)
            seen = upto
        bounds[index] = first, len(rows)
    return bounds, np.array(rows, dtype=np.int64), np.array(lags, dtype=np.int64), hold


def _may_hold(timeline: Timeline, actions: _Actions, ends: Ints, issued: Ints) -> Flags:
    """Tell which actions may have waited for GPU rows: waits, and long calls with a reason."""
    calls = classify_all(timeline.names)
    called = actions.host_row >= 0
    kind = np.full(len(called), Call.OTHER, dtype=np.uint8)
    kind[called] = calls[timeline.host.name[actions.host_row[called]]]
    long = called & (actions.end - actions.start >= _HELD_CALL_NS)
    backlog = np.searchsorted(issued, actions.start) - np.searchsorted(ends, actions.start)
    held = long & ((kind == Call.COPY) | (backlog > _BACKLOG_ROWS))
    return np.asarray(held | (called & np.isin(kind, (Call.WAIT, Call.ALLOCATE))), dtype=bool)


def _last_done(by_end: Ints, ends: Ints, issue: Ints, start: int, end: int) -> int:
    """The last row to have ended by ``end`` that had been issued by ``start``; -1 if none."""
    index = int(np.searchsorted(ends, end, side="right")) - 1
    for candidate in by_end[max(index - 64, 0) : index + 1][::-1]:
        if issue[candidate] <= start:
            return int(candidate)
    return -1


def _issued_at(actions: _Actions, rows: Ints, count: int) -> Ints:
    """When the action that issues each GPU row began; long ago if none does."""
    moment = np.full(count, NEVER, dtype=np.int64)
    owned, owner = expanded(rows)
    moment[owned] = actions.start[owner]
    return moment


def _fixed_starts(timeline: Timeline, order: Ints, rows: Ints) -> Ints:
    """Recorded start of the first row of each stream that was issued before the recording; -1."""
    gpu = timeline.gpu
    fixed = np.full(len(order), -1, dtype=np.int64)
    owned = rows[:, 0][rows[:, 1] > rows[:, 0]]
    early = order[: int(owned.min(initial=len(order)))]
    place = np.column_stack([gpu.device[early], gpu.stream[early]])
    first = np.unique(place, axis=0, return_index=True)[1] if len(early) else early
    fixed[first] = gpu.start[early[first]]
    return fixed
