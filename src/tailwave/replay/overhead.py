"""The profiler's own cost, and the program as it likely runs without it.

A recorder spends time on every operator, runtime call and Python frame that it logs, on the
thread that issues them; the GPU's own times barely change. Each logged event is given a typical
cost, taken off the host work in which it was logged.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.replay.program import Program
from tailwave.timeline.case import Case
from tailwave.timeline.hostwork import Activity

# Cost of one logged operator, runtime call and Python frame (ns).
COST_NS = (1_500.0, 0.0, 500.0)
# However much was logged, this share of the recorded host work is real.
_LEAST_REAL = 0.25
_RANGE = (0.5, 1.5)


class Overhead(msgspec.Struct, frozen=True):
    """The likely program, and the bounds of what is likely."""

    likely: Program
    fastest: Program
    slowest: Program


def unprofiled(case: Case, program: Program) -> Overhead:
    """Take the profiler's cost off a program, at its likely, greatest and least."""
    del case
    low, high = _RANGE
    return Overhead(_without(program, 1.0), _without(program, high), _without(program, low))


def _without(program: Program, times: float) -> Program:
    cost = program.logged @ np.array(COST_NS) * times
    work = program.work.astype(np.float64)
    for activity in (Activity.ISSUE, Activity.SYNC):
        part = work[:, activity]
        taken = np.minimum(cost, part * (1 - _LEAST_REAL))
        work[:, activity] = part - taken
        cost = cost - taken
    return msgspec.structs.replace(program, work=work.astype(np.int64))
