"""The program as it likely runs without the profiler.

A recorder slows the host down: it logs every operator, call and Python frame on the thread that
issues them. The GPU's work hardly changes, and neither does what the host does besides issuing. So
one factor is taken: the share of the recorded issuing that is left without the recorder. Nothing
else that a trace holds was found to tell it better: not the number of events logged, not how long
launch calls take, not what operators, calls and pauses make of the time (docs/replay.md has the
tables). Steps are disturbed more or less, and those disturbed least are most like unrecorded ones.

The same program takes a fifth more or less in another process, recorded or not, so every likely
time comes with a range.

The constants are those of PyTorch's profiler (Kineto). What nsys and other recorders cost was not
measured, so of their recordings nothing is taken off: the recorded time is the likely one, and its
range says how much less it may be.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats
from tailwave.recordings.replay.change import in_steps, issuer, waits
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity

# The recorders whose cost the constants are.
_FITTED = frozenset({"kineto"})
# Of the issuing in the quieter steps this share is left without the recorder: the least absolute
# error over the 87 host-bound recordings of docs/replay.md, 36 programs, each counting once.
# Without any one program, or any one of five hosts, the others give 0.64 to 0.65.
REAL = 0.65
# Bounds of the likely host work, as factors of it: nine of ten truths of those recordings.
FASTEST, SLOWEST = 0.55, 1.5
# What one Python frame costs its thread (ns): two models on an H200 with and without stacks, in
# turns in one process. However many there were, this share of the host's work is its own.
FRAME_NS = 500
_LEAST_REAL = 0.25
# Kernels take so much longer or shorter from run to run (clocks, memory).
GPU_SPREAD = 0.05
# Cost of one node of a graph to the GPU between two nodes (ns).
GRAPH_NODE_GPU_NS = 120
# What the host does for the sake of the GPU; a wait's own time is no part of it.
ISSUING = (Activity.ISSUE, Activity.SYNC, Activity.STRETCHED)


class Overhead(msgspec.Struct, frozen=True):
    """The likely program, and the bounds of what is likely.

    ``known`` tells whether the recorder's cost is known; if not, nothing was taken off.
    """

    likely: Program
    fastest: Program
    slowest: Program
    known: bool = True


def unprofiled(case: Case, program: Program) -> Overhead:
    """Take the profiler's cost off a program, where it is known."""
    known = case.timeline.kind in _FITTED
    relieved = without_recording(case, program)
    likely = host_times(relieved, REAL * _quieter(relieved), ISSUING) if known else program
    return Overhead(
        likely=likely,
        fastest=_bound(likely, FASTEST, 1 - GPU_SPREAD),
        slowest=_bound(likely, SLOWEST, 1 + GPU_SPREAD) if known else program,
        known=known,
    )


def _bound(program: Program, host: float, gpu: float) -> Program:
    """Multiply all that the host does, and how long the GPU's work takes."""
    changed = host_times(program, host, tuple(Activity))
    return msgspec.structs.replace(changed, duration=(program.duration * gpu).astype(np.int64))


def without_recording(case: Case, program: Program) -> Program:
    """Take off what a recorder is known to add by itself: to graphs' nodes and Python frames."""
    if case.timeline.kind not in _FITTED:
        return program
    return _without_frames(_without_gpu_cost(program))


def host_times(program: Program, factor: float | Floats, of: tuple[Activity, ...]) -> Program:
    """Multiply the host's work of some kinds within the steps, and its calls; waits stay.

    A row arrives no sooner than its call has done its work, so as much of the call as its latency
    holds changes with it. ``factor`` is one for all actions or one for each.
    """
    each = np.where(in_steps(program), factor, 1.0)
    work = program.work.astype(np.float64)
    work[:, of] *= each[:, None]
    call = np.where(waits(program), 1.0, each)
    by = issuer(program)
    within = np.where(by >= 0, np.minimum(program.latency, program.hold[by]), 0)
    return msgspec.structs.replace(
        program,
        work=work.astype(np.int64),
        hold=(program.hold * call).astype(np.int64),
        latency=program.latency - (within * (1 - call[by])).astype(np.int64),
    )


def _quieter(program: Program) -> float:
    """Issuing in the quieter third of the steps, as a share of that of all steps.

    Per launch and wait, since steps differ in what they do.
    """
    called = program.mark < 0
    # What comes before a boundary is the ended step's.
    step = np.where(called, program.step, program.mark - 1)
    mine = (step >= 0) & (step < program.step_count)
    spent = program.work[:, (Activity.ISSUE, Activity.SYNC)].sum(axis=1)
    spent = spent + np.where(waits(program), 0, program.hold)
    issuing, calls = (
        np.bincount(step[mine], weights=each[mine], minlength=program.step_count) * program.weight
        for each in (spent, called)
    )
    some = calls > 0
    if issuing[some].sum() <= 0:
        return 1.0
    rates = np.sort(issuing[some] / calls[some])
    mean = issuing[some].sum() / calls.sum()
    return float(min(rates[(len(rates) - 1) // 3] / mean, 1.0))


def _without_frames(program: Program) -> Program:
    """Take the logging of Python frames off the host's work in which they were logged."""
    total = program.work.sum(axis=1) + np.where(waits(program), 0, program.hold)
    left = 1 - FRAME_NS * program.logged[:, 2] / np.maximum(total, 1)
    return host_times(program, np.maximum(left, _LEAST_REAL), tuple(Activity))


def _without_gpu_cost(program: Program) -> Program:
    """Take the recorder's time between the nodes of a graph off the GPU rows."""
    by = issuer(program)
    nodes = np.diff(program.rows, axis=1).ravel()
    graphed: Flags = (by >= 0) & (nodes[by] > 1)
    gap = np.where(
        graphed & (program.gap > 0), np.maximum(program.gap - GRAPH_NODE_GPU_NS, 0), program.gap
    )
    return msgspec.structs.replace(program, gap=gap.astype(np.int64))
