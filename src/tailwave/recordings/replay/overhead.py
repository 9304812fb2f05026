"""The profiler's own cost, and the program as it likely runs without it.

A recorder spends time on every operator, runtime call and Python frame that it logs, on the
thread that issues them, and on every node of a CUDA graph; kernels hardly change. Besides, a
profile is short and its host is often slower than the same host in the long run (cold caches,
clocks not yet up). The launch call shows by how much: it is the same code in every program.

The constants were fitted to recordings of an H200 whose steps were also timed without the
profiler; docs/replay.md has the table. Single recordings miss by a third and more, in both
directions, so every likely time comes with a range.

They are those of PyTorch's profiler (Kineto). What nsys and other recorders cost was not measured,
so of their recordings nothing is taken off: the recorded time is the likely one, and its range says
how much less it may be.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tailwave.model import Flags, Floats
from tailwave.recordings.replay.change import call_names, in_steps, issuer, waits
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

# The recorders whose cost the constants are.
_FITTED = frozenset({"kineto"})
# Cost of one logged operator, runtime call and Python frame (ns).
COST_NS = (1_500.0, 1_000.0, 500.0)
# Cost of one node of a graph to the call that launches it, and to the GPU between two nodes (ns).
GRAPH_NODE_HOST_NS = 900
GRAPH_NODE_GPU_NS = 120
# The tenth percentile of the launch calls' durations on a warm host (ns), profiled.
WARM_LAUNCH_NS = 4_000.0
# A host is never taken to be more than twice as slow in the recording as in the long run.
_SLOWEST = 0.5
_LAUNCHES_NEEDED = 8
# However much was logged, this share of the recorded host work is real.
_LEAST_REAL = 0.25
# Bounds of the likely host time, as factors of it: 101 of 124 measured times lie within (the table
# in docs/replay.md counts them).
_FAST, _SLOW = 0.6, 1.7
_PLAIN_LAUNCH = re.compile(r"^(cuda|cu|hip)(Ext)?(Module)?LaunchKernel")


class Overhead(msgspec.Struct, frozen=True):
    """The likely program, the bounds of what is likely, and how slow the host was (1: warm).

    ``known`` tells whether the recorder's cost is known; if not, nothing was taken off.
    """

    likely: Program
    fastest: Program
    slowest: Program
    host_speed: float
    known: bool = True


def unprofiled(case: Case, program: Program) -> Overhead:
    """Take the profiler's cost off a program, where it is known."""
    if case.timeline.kind not in _FITTED:
        fastest = _with_host_work(program, 0.0, _FAST)
        return Overhead(program, fastest, slowest=program, host_speed=1.0, known=False)
    speed = host_speed_while_recorded(case, program)
    relieved = _without_gpu_cost(program)
    return Overhead(
        likely=_without_host_cost(relieved, speed),
        fastest=_without_host_cost(relieved, speed * _FAST),
        slowest=_without_host_cost(relieved, min(speed * _SLOW, 1.0)),
        host_speed=speed,
    )


def host_speed_while_recorded(case: Case, program: Program) -> float:
    """How fast the host was while it was recorded, against its warm self (0.5 to 1)."""
    plain = [code for code, name in enumerate(case.timeline.names) if _PLAIN_LAUNCH.match(name)]
    calls = in_steps(program) & ~waits(program) & np.isin(call_names(case, program), plain)
    calls &= program.activity != Activity.STRETCHED
    if int(calls.sum()) < _LAUNCHES_NEEDED:
        return 1.0
    typical = float(np.percentile(program.hold[calls], 10))
    return float(np.clip(WARM_LAUNCH_NS / max(typical, 1.0), _SLOWEST, 1.0))


def _without_host_cost(program: Program, speed: float) -> Program:
    """Take logging off the host's work, and let what remains run at the warm host's speed."""
    nodes = np.diff(program.rows, axis=1).ravel()
    cost = program.logged @ np.array(COST_NS)
    return _with_host_work(
        program, cost + np.where(nodes > 1, nodes * GRAPH_NODE_HOST_NS, 0), speed
    )


def _with_host_work(program: Program, cost: Floats | float, speed: float) -> Program:
    """Take a cost (ns) off each action's host work in the steps, and speed up what remains."""
    free = ~waits(program)
    work = program.work.astype(np.float64)
    hold = program.hold.astype(np.float64)
    columns = np.array([Activity.ISSUE, Activity.SYNC])
    total = work[:, columns].sum(axis=1) + np.where(free, hold, 0.0)
    real = np.maximum(total - cost, _LEAST_REAL * total)
    factor = np.where(total > 0, real / np.maximum(total, 1.0), 1.0) * speed
    mine = in_steps(program)
    work[np.ix_(np.flatnonzero(mine), columns)] *= factor[mine, None]
    hold[mine & free] *= factor[mine & free]
    return msgspec.structs.replace(program, work=work.astype(np.int64), hold=hold.astype(np.int64))


def _without_gpu_cost(program: Program) -> Program:
    """Take the recorder's time between the nodes of a graph off the GPU rows."""
    by = issuer(program)
    nodes = np.diff(program.rows, axis=1).ravel()
    graphed: Flags = (by >= 0) & (nodes[by] > 1)
    gap: Floats = np.where(
        graphed & (program.gap > 0), np.maximum(program.gap - GRAPH_NODE_GPU_NS, 0), program.gap
    )
    return msgspec.structs.replace(program, gap=gap.astype(np.int64))
