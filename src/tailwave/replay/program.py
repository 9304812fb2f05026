"""A recording as a program that can be run again: host actions, and the GPU work they issue.

Only what orders the GPU's work remains of the host: launches, waits and step boundaries. The
time between two of them is host work, kept by activity so that a rule can take one kind away.
Of the GPU remain the rows with their durations and what each had to wait for: the arrival of its
launch, the row before it in its stream, and one row of another stream where the recording shows
that it waited for one. Of these whichever was binding reproduces the recorded start exactly; the
others get typical values, so that they can become binding in a changed run.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, GpuKind, HostKind, Ints, Timeline
from tailwave.timeline.attribution import Attribution
from tailwave.timeline.calls import Call, classify_all
from tailwave.timeline.hostwork import Activity
from tailwave.timeline.intervals import overlap
from tailwave.timeline.launches import filled_in_streams, issued
from tailwave.timeline.steps import Steps

# Launch to start on an idle GPU when the recording never shows it (ns): H200, profiled and not,
# 4 to 10 us.
DEFAULT_LATENCY_NS = 5_000
# A row that starts this much (ns) after all that it is known to wait for waited for something
# else: a row of another stream, if one ended just then.
_UNEXPLAINED_NS = 10_000
# A launch call that takes this long (ns) beside a backlog was held by the full queue.
_HELD_CALL_NS = 50_000
_BACKLOG_ROWS = 500
# How many launches back the other side of a join is looked for.
_JOIN_REACH = 512
# The host needs this long (ns) to notice that what it waits for is done, where unknown.
_WAKE_NS = 5_000
_NEVER = np.iinfo(np.int64).min // 4


class Dependency:
    """What kind of row of another stream a row waited for."""

    NONE = 0
    EVENT = 1  # a dependency of the program: events, joins, copies
    HOLDER = 2  # nothing of the program's: a row that held the SMs


class Program(msgspec.Struct, frozen=True):
    """Host actions per lane and GPU rows in order of issue; times in ns.

    Actions: ``work`` is the host time since the previous action of the lane, one column per
    Activity, and ``logged`` how many operators, runtime calls and Python frames the recorder logged
    in it; ``hold`` is the action's own time; ``rows`` and ``targets`` are bounds into the GPU rows
    that it issues and into ``target_row``/``target_lag``, the rows whose end it waits for.
    ``mark`` is the step that an action begins, or -1; ``step`` the step that it is in, ``activity``
    what its lane was doing when it began.

    GPU rows: ``row`` is the row of the timeline's table, ``stream`` a dense stream number,
    ``issue`` a start that is fixed, else -1.
    """

    lane: Ints
    work: Ints
    logged: Ints
    hold: Ints
    rows: Ints
    targets: Ints
    target_row: Ints
    target_lag: Ints
    mark: Ints
    step: Ints
    host_row: Ints
    activity: Bytes
    lane_start: Ints

    row: Ints
    row_step: Ints
    stream: Ints
    duration: Ints
    latency: Ints
    gap: Ints
    dep: Ints
    dep_lag: Ints
    dep_kind: Bytes
    issue: Ints
    counts: Flags  # whether the row's end counts for the completion of its step

    step_count: int

    @property
    def events(self) -> int:
        """Number of actions and rows that a run processes."""
        return len(self.lane) + len(self.row)


class _Actions(msgspec.Struct, frozen=True):
    lane: Ints
    start: Ints
    end: Ints
    host_row: Ints
    mark: Ints


def compile_program(timeline: Timeline, steps: Steps, attribution: Attribution) -> Program:
    """Turn a timeline into a program; its run reproduces the recording."""
    actions = _actions(timeline, steps, attribution)
    order, rows = _issue_order(timeline, actions)
    position = np.full(len(timeline.gpu), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    targets, target_row, target_lag, hold = _waits(timeline, actions, position)
    timing = _timing(timeline, attribution, order, position, _issued_at(actions, rows, len(order)))
    streams = np.unique(
        np.column_stack([timeline.gpu.device[order], timeline.gpu.stream[order]]),
        axis=0,
        return_inverse=True,
    )[1].ravel()
    gpu_step = steps.gpu_step[order]
    step = np.searchsorted(steps.host_start, actions.start, side="right") - 1
    # The work before the last boundary is the last step's; what follows it is no step's.
    step[(actions.start >= steps.host_end[-1]) & (actions.mark < 0)] = len(steps)
    return Program(
        lane=actions.lane,
        work=_work(attribution, actions),
        logged=_logged(timeline, attribution, actions),
        hold=hold,
        rows=rows,
        targets=targets,
        target_row=target_row,
        target_lag=target_lag,
        mark=actions.mark,
        step=step,
        host_row=actions.host_row,
        activity=_activity(attribution, actions),
        lane_start=_lane_starts(actions),
        row=order,
        row_step=gpu_step,
        stream=streams.astype(np.int64),
        duration=(timeline.gpu.end - timeline.gpu.start)[order],
        latency=timing.latency,
        gap=timing.gap,
        dep=timing.dep,
        dep_lag=timing.dep_lag,
        dep_kind=timing.dep_kind,
        issue=_fixed_starts(timeline, order, rows),
        counts=timeline.gpu.device[order] == attribution.device,
        step_count=len(steps),
    )


def _actions(timeline: Timeline, steps: Steps, attribution: Attribution) -> _Actions:
    """Collect launches, holding calls and step boundaries of every lane, in order."""
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = host.kind == HostKind.RUNTIME
    wanted = runtime & np.isin(calls[host.name], (Call.WAIT, Call.ALLOCATE))
    wanted[gpu.launch[gpu.launch >= 0]] = True
    lane_of = np.full(len(timeline.threads), -1, dtype=np.int64)
    for number, lane in enumerate(attribution.lanes):
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
    for number in range(len(attribution.lanes)):
        mine = lanes == number
        reach = np.maximum.accumulate(end[mine])
        start[mine] = np.maximum(start[mine], np.concatenate([[_NEVER], reach[:-1]]))
        end[mine] = np.maximum(end[mine], start[mine])
    return _Actions(lanes, start, end, host_row[order], mark[order])


def _lane_starts(actions: _Actions) -> Ints:
    """Start of each lane's first action; there is one lane at least, that of the boundaries."""
    return actions.start[np.unique(actions.lane, return_index=True)[1]]


def _work(attribution: Attribution, actions: _Actions) -> Ints:
    """Host time before each action since the one before it, by activity."""
    table = np.zeros((len(actions.lane), len(Activity)), dtype=np.int64)
    follows = np.flatnonzero(np.diff(actions.lane, prepend=-1) == 0)
    low, high = actions.end[follows - 1], actions.start[follows]
    for lane, work in enumerate(attribution.work):
        mine = actions.lane[follows] == lane
        for activity in Activity:
            of_kind = work.activity == activity
            spent = overlap(work.start[of_kind], work.end[of_kind], low[mine], high[mine])
            table[follows[mine], activity] = spent
    # What no activity covers is issuing, so that the sum is the recorded time.
    table[follows, Activity.ISSUE] += (high - low) - table[follows].sum(axis=1)
    return table


def _logged(timeline: Timeline, attribution: Attribution, actions: _Actions) -> Ints:
    """Rows of each HostKind but annotations that began since the action before in the lane."""
    host = timeline.host
    table = np.zeros((len(actions.lane), 3), dtype=np.int64)
    kinds = (HostKind.OPERATOR, HostKind.RUNTIME, HostKind.PYTHON)
    for number, lane in enumerate(attribution.lanes):
        mine = np.flatnonzero(actions.lane == number)
        own = np.isin(host.thread, lane.threads)
        for column, kind in enumerate(kinds):
            begun = host.start[own & (host.kind == kind)]
            upto = np.searchsorted(begun, actions.end[mine], side="right")
            table[mine, column] = np.diff(upto, prepend=upto[:1])
    return table


def _activity(attribution: Attribution, actions: _Actions) -> Bytes:
    """What the lane of each action was doing when it began."""
    result = np.full(len(actions.lane), Activity.ISSUE, dtype=np.uint8)
    for lane, work in enumerate(attribution.work):
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
    before the call returned. A call that found its work done keeps it as a target.
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
    for index in np.flatnonzero(holds).tolist():
        start, end = int(actions.start[index]), int(actions.end[index])
        target = _last_done(by_end, ends, issue, start, end)
        if target >= 0:
            finished = int(gpu.end[target])
            bounds[index] = len(rows), len(rows) + 1
            rows.append(int(position[target]))
            lags.append(min(end - finished, max(_WAKE_NS, end - max(finished, start))))
            if finished > start:
                hold[index] = min(int(hold[index]), _WAKE_NS)
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


class _Timing(msgspec.Struct, frozen=True):
    latency: Ints
    gap: Ints
    dep: Ints
    dep_lag: Ints
    dep_kind: Bytes


def _issued_at(actions: _Actions, rows: Ints, count: int) -> Ints:
    """When the action that issues each GPU row began; long ago if none does."""
    moment = np.full(count, _NEVER, dtype=np.int64)
    for action in np.flatnonzero(rows[:, 1] > rows[:, 0]):
        moment[rows[action, 0] : rows[action, 1]] = actions.start[action]
    return moment


def _timing(
    timeline: Timeline, attribution: Attribution, order: Ints, position: Ints, called: Ints
) -> _Timing:
    """Split each row's recorded start into what it waited for since it was ``called`` for."""
    gpu = timeline.gpu
    start = gpu.start[order]
    known = gpu.launch[order] >= 0
    before = _stream_predecessor_end(timeline, order)
    usual = attribution.launch_latency or DEFAULT_LATENCY_NS
    queued = ~known | (called + usual <= before)
    since_before = start - before
    # Of an unrecorded launch nothing is known but that it came in time.
    since_issue = np.where(known, start - called, 0)
    switching = since_before[queued & (since_before >= 0) & (since_before < _UNEXPLAINED_NS)]
    usual_gap = int(np.median(switching)) if len(switching) else 0
    latency = np.where(queued, np.minimum(usual, np.maximum(since_issue, 0)), since_issue)
    gap = np.where(queued, since_before, np.minimum(usual_gap, since_before))
    dep = np.full(len(order), -1, dtype=np.int64)
    lag = np.zeros(len(order), dtype=np.int64)
    kind = np.zeros(len(order), dtype=np.uint8)
    waited = start - np.maximum(before, np.where(known, called + usual, _NEVER))
    waited = np.where(before > _NEVER, waited, np.where(known, waited, 0))
    finder = _DependencyFinder(timeline, position)
    for index in np.flatnonzero(waited > _UNEXPLAINED_NS):
        found, why = finder.find(int(order[index]), int(start[index] - waited[index]))
        if found < 0:
            continue
        dep[index], kind[index] = position[found], why
        lag[index] = start[index] - gpu.end[found]
        latency[index] = min(usual, int(since_issue[index]))
        gap[index] = min(usual_gap, int(since_before[index]))
    for row, source in _joins(timeline, order, position).items():
        # A join that was not binding in the recording can be in a changed run.
        if dep[row] < 0 and gpu.end[order[source]] <= start[row]:
            dep[row], kind[row] = source, Dependency.EVENT
            lag[row] = min(usual_gap, int(start[row] - gpu.end[order[source]]))
    return _Timing(latency, gap, dep, lag, kind)


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


def _stream_predecessor_end(timeline: Timeline, order: Ints) -> Ints:
    """End of what ran before each row in its stream, in order of issue; long ago if nothing."""
    gpu = timeline.gpu
    result = np.full(len(order), _NEVER, dtype=np.int64)
    key = np.lexsort((np.arange(len(order)), gpu.stream[order], gpu.device[order]))
    ends = gpu.end[order][key]
    device, stream = gpu.device[order][key], gpu.stream[order][key]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (np.diff(device) != 0) | (np.diff(stream) != 0)
    for low, high in zip(
        np.flatnonzero(fresh), np.append(np.flatnonzero(fresh)[1:], len(key)), strict=True
    ):
        result[key[low + 1 : high]] = np.maximum.accumulate(ends[low:high])[:-1]
    return result


def _joins(timeline: Timeline, order: Ints, position: Ints) -> dict[int, int]:
    """Rows that the host made wait for another stream, with the last row issued there before.

    The recording says that a stream was made to wait, not which; it is taken to be the stream of
    the thread's next launch, and to wait for the last one before on another stream.
    """
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = host.kind == HostKind.RUNTIME
    waits = np.flatnonzero(runtime & (calls[host.name] == Call.STREAM_WAIT))
    launched = order[gpu.launch[order] >= 0]
    issue, thread = host.start[gpu.launch[launched]], host.thread[gpu.launch[launched]]
    joins: dict[int, int] = {}
    for call in waits:
        mine = launched[thread == host.thread[call]] if len(np.unique(thread)) > 1 else launched
        times = host.start[gpu.launch[mine]] if len(mine) != len(launched) else issue
        following = int(np.searchsorted(times, host.start[call], side="right"))
        if following >= len(mine):
            continue
        row = mine[following]
        for earlier in mine[max(following - _JOIN_REACH, 0) : following][::-1]:
            if gpu.stream[earlier] != gpu.stream[row] and gpu.device[earlier] == gpu.device[row]:
                joins[int(position[row])] = int(position[earlier])
                break
    return joins


class _DependencyFinder:
    """Finds the row of another stream that a row waited for."""

    _LOOK_BACK = 128

    def __init__(self, timeline: Timeline, position: Ints) -> None:
        self._gpu = timeline.gpu
        self._by_end = np.argsort(timeline.gpu.end, kind="stable")
        self._ends = timeline.gpu.end[self._by_end]
        self._position = position
        calls = classify_all(timeline.names)
        runtime = timeline.host.kind == HostKind.RUNTIME
        self._joined = bool((calls[timeline.host.name[runtime]] == Call.STREAM_WAIT).any())

    def find(self, row: int, ready: int) -> tuple[int, int]:
        """Return the row waited for since ``ready`` and the kind of dependency, or -1."""
        gpu, start = self._gpu, int(self._gpu.start[row])
        last = int(np.searchsorted(self._ends, start, side="right"))
        for candidate in self._by_end[max(last - self._LOOK_BACK, 0) : last][::-1]:
            if gpu.end[candidate] < ready or start - gpu.end[candidate] > _UNEXPLAINED_NS:
                break
            if self._elsewhere(int(candidate), row):
                return int(candidate), Dependency.EVENT if self._joined else Dependency.HOLDER
        running = np.flatnonzero((gpu.start[:row] < start) & (gpu.end[:row] > start))
        for candidate in running[::-1]:
            if self._elsewhere(int(candidate), row) and gpu.kind[candidate] == GpuKind.KERNEL:
                return int(candidate), Dependency.HOLDER
        return -1, Dependency.NONE

    def _elsewhere(self, candidate: int, row: int) -> bool:
        gpu = self._gpu
        return bool(
            gpu.device[candidate] == gpu.device[row] and gpu.stream[candidate] != gpu.stream[row]
        )


def same(one: Program, other: Program) -> bool:
    """Tell whether two programs are alike in everything, so that they run alike."""
    return one is other or all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__
    )


def replace_rows(program: Program, keep: Flags) -> Program:
    """Leave out GPU rows; actions and dependencies that named them lose them."""
    renumber = np.cumsum(keep) - 1
    before = np.concatenate([[0], np.cumsum(keep)])
    dep = np.where((program.dep >= 0) & keep[program.dep], renumber[program.dep], -1)[keep]
    alive = keep[program.target_row] if len(program.target_row) else np.zeros(0, dtype=bool)
    alive_before = np.concatenate([[0], np.cumsum(alive)])
    per_row = ("row", "row_step", "stream", "duration", "latency", "gap", "dep_lag", "dep_kind")
    return msgspec.structs.replace(
        program,
        **{name: getattr(program, name)[keep] for name in (*per_row, "issue", "counts")},
        dep=dep,
        rows=before[program.rows],
        targets=alive_before[program.targets],
        target_row=renumber[program.target_row[alive]],
        target_lag=program.target_lag[alive],
    )
