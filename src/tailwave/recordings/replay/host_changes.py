"""What-ifs on the host's side: graphs, no waits, no starvation, a faster host."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, GpuKind, Ints
from tailwave.recordings.replay.change import (
    Change,
    Changed,
    a_step,
    call_names,
    in_steps,
    issuer,
    issues,
    waits,
    without_targets,
    without_work,
)
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.calls import Call, classify_all, direction
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.launches import LONGEST_LATENCY_NS

# End of one node of a CUDA graph to the start of the next: a constant (ns) and a share of the
# node's own recorded time, up to a limit (ns). Graphed steps less the busy time of the eager ones
# gave 0.22 to 0.51 us a node in nineteen models on an H200, CUDA 13.0, less between short kernels.
NODE_GAP_NS = 140
NODE_GAP_SHARE = 0.08
NODE_GAP_LONGEST_NS = 4_000
# Calls after a pause that a cold host makes slowly.
_COLD_CALLS = 8
# Host time of one cudaGraphLaunch (ns): H200, a few hundred nodes, not profiled.
GRAPH_LAUNCH_NS = 10_000


def cuda_graph(case: Case, program: Program) -> Changed:
    """Replace the launches of each step by one graph launch.

    A graph cannot hold a wait for the GPU, an allocation that stops the device or a copy of
    pageable memory, so each of these cuts it in two. So does host work that launches nothing, for
    what is launched after it may need what it made. What stretches host work stays.
    """
    launching = issues(program) & in_steps(program)
    breaks = (waits(program) | (program.mark >= 0)) & in_steps(program)
    member = launching & ~breaks
    fed = program.work[:, Activity.STARVED] > 0
    segment = np.cumsum(breaks | fed | (np.diff(program.lane, prepend=-1) != 0))
    changed = without_work(program, in_steps(program), (Activity.ISSUE,))
    hold, rows = changed.hold.copy(), changed.rows.copy()
    hold[member & (program.activity != Activity.STRETCHED)] = 0
    members = np.flatnonzero(member)
    for run in np.split(members, _firsts(segment[members])[1:]) if len(members) else ():
        _join(program, rows, run)
        hold[run[0]] += GRAPH_LAUNCH_NS
    changed = msgspec.structs.replace(changed, hold=hold, rows=rows)
    graphed = _as_graph(changed, case, member, _nodes(program), program.hold)
    cutting = breaks & waits(program) & (program.host_row >= 0)
    return Changed(graphed, _refused(case, program, cutting))


def _join(program: Program, rows: Ints, run: Ints) -> None:
    """Let the first action of a graph issue all its rows.

    Rows of another lane between them would be issued with them; then each keeps its own.
    """
    low, high = int(program.rows[run[0], 0]), int(program.rows[run[-1], 1])
    if int(np.diff(program.rows[run], axis=1).sum()) == high - low:
        rows[run[0]] = low, high
        rows[run[1:]] = high


def _firsts(values: Ints) -> Ints:
    """Index of the first member of each run of equal values."""
    return np.flatnonzero(np.diff(values, prepend=-1) != 0) if len(values) else values


def _nodes(program: Program) -> Flags:
    """Tell which rows follow another row of the same launch: nodes of a graph already."""
    by = issuer(program)
    return np.asarray((by >= 0) & (program.rows[by, 0] < np.arange(len(by))), dtype=bool)


def _as_graph(program: Program, case: Case, member: Flags, before: Flags, held: Ints) -> Program:
    """Let rows arrive with their graph's launch and follow each other by a node's gap.

    What was a node ``before`` keeps its gap. ``held`` is what each call took as recorded (ns).
    """
    by = issuer(program)
    graphed = (by >= 0) & member[by]
    usual = case.launch_latency
    share = NODE_GAP_SHARE * np.minimum(program.duration, NODE_GAP_LONGEST_NS)
    node_gap = NODE_GAP_NS + share.astype(np.int64)
    # What kept a row that had arrived is not recorded, and no graph takes it away.
    arrives = np.maximum(usual, np.where(by >= 0, held[by], 0))
    kept = np.where(program.latency > arrives + LONGEST_LATENCY_NS, program.latency - arrives, 0)
    kept = np.maximum(kept, np.where(program.gap > LONGEST_LATENCY_NS, program.gap - node_gap, 0))
    return msgspec.structs.replace(
        program,
        latency=np.where(graphed, usual + kept, program.latency),
        gap=np.where(graphed & ~before, node_gap + kept, program.gap),
        dep_lag=np.where(graphed & (program.dep >= 0), node_gap, program.dep_lag),
    )


def _refused(case: Case, program: Program, cutting: Flags) -> tuple[str, ...]:
    if not cutting.any():
        return ()
    codes = np.unique(call_names(case, program)[cutting])
    names = sorted(case.timeline.names[code] for code in codes)
    often = a_step(int(cutting.sum()), program)
    return (f"a graph cannot hold {', '.join(names)} ({often}): each cuts it in two",)


def no_sync(case: Case, program: Program) -> Changed:
    """Take away the waits within the steps, with the operators and copies that served them.

    The host then runs ahead, but by no more than a step: a value that a program needs now and then
    can be read one step later.
    """
    kinds = np.append(classify_all(case.timeline.names), np.uint8(Call.OTHER))
    kind = kinds[call_names(case, program)]
    serving = in_steps(program) & (program.activity == Activity.SYNC)
    waiting = in_steps(program) & np.isin(kind, (Call.WAIT, Call.ALLOCATE))
    fetching = serving & (kind == Call.COPY)
    changed = without_work(program, in_steps(program), (Activity.SYNC,))
    changed = without_targets(changed, waiting | fetching)
    hold = changed.hold.copy()
    hold[serving | waiting] = 0
    changed = msgspec.structs.replace(changed, hold=hold)
    by = issuer(changed)
    fetched = (by >= 0) & fetching[by] & _to_host(case, changed)
    if (waiting | fetching).any():
        changed = _a_step_ahead(changed.keep_rows(~fetched))
    return Changed(changed)


def _a_step_ahead(program: Program) -> Program:
    """Let the host begin each step only when the step before the last is done."""
    last = np.full(program.step_count, -1, dtype=np.int64)
    mine = np.flatnonzero(program.counts & (program.row_step >= 0))
    np.maximum.at(last, program.row_step[mine], mine)
    action = np.flatnonzero(program.mark > 1)
    row = last[program.mark[action] - 2]
    action, row = action[row >= 0], row[row >= 0]
    targets = program.targets.copy()
    first = len(program.target_row) + np.arange(len(row))
    targets[action] = np.column_stack([first, first + 1])
    return msgspec.structs.replace(
        program,
        targets=targets,
        target_row=np.concatenate([program.target_row, row]),
        target_lag=np.concatenate([program.target_lag, np.zeros(len(row), dtype=np.int64)]),
    )


def _to_host(case: Case, program: Program) -> Flags:
    names = np.array([direction(name) == "DtoH" for name in case.timeline.names], dtype=bool)
    gpu = case.timeline.gpu
    return np.asarray(
        (gpu.kind[program.row] == GpuKind.MEMCPY) & names[gpu.name[program.row]], dtype=bool
    )


def fed(case: Case, program: Program) -> Changed:
    """Take away the time in which the host issued nothing.

    The first calls after a pause are slow, for caches and clocks have gone cold; without the pause
    the host's work before each takes what it usually takes before such a call.
    """
    changed = without_work(program, in_steps(program), (Activity.STARVED,))
    names = call_names(case, program)
    work = changed.work.copy()
    paused = np.flatnonzero(in_steps(program) & (program.work[:, Activity.STARVED] > 0))
    cold = np.unique((paused[:, None] + np.arange(_COLD_CALLS)).ravel())
    cold = cold[cold < len(names)]
    for name in np.unique(names[cold]):
        mine = cold[names[cold] == name]
        usual = int(np.median(program.work[names == name, Activity.ISSUE]))
        work[mine, Activity.ISSUE] = np.minimum(work[mine, Activity.ISSUE], usual)
    return Changed(msgspec.structs.replace(changed, work=work))


def unstretched(case: Case, program: Program) -> Changed:
    """Take away the time by which host work was stretched.

    A stretched call takes what the others of its name usually take, or no time if it has none.
    """
    changed = without_work(program, in_steps(program), (Activity.STRETCHED,))
    names = call_names(case, program)
    hold = changed.hold.copy()
    stretched = in_steps(program) & (program.activity == Activity.STRETCHED)
    for name in np.unique(names[stretched]):
        others = hold[(names == name) & ~stretched]
        usual = int(np.median(others)) if len(others) else 0
        mine = stretched & (names == name)
        hold[mine] = np.minimum(hold[mine], usual)
    return Changed(msgspec.structs.replace(changed, hold=hold))


def host_speed(times: float) -> Change:
    """Let the host issue ``times`` as fast; waiting and starving take as long as before."""

    def change(case: Case, program: Program) -> Changed:
        del case
        work, hold = program.work.astype(np.float64), program.hold.astype(np.float64)
        mine = in_steps(program)
        work[mine, Activity.ISSUE] /= times
        hold[mine & ~waits(program)] /= times
        return Changed(
            msgspec.structs.replace(program, work=work.astype(np.int64), hold=hold.astype(np.int64))
        )

    return change
