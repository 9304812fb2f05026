"""The event core: a heap of host lanes and a virtual clock.

Each lane performs its actions in order. An action issues GPU rows, whose starts follow at once
from what they wait for (streams are first in, first out, so everything that a row can wait for
has been issued before it), and then holds its lane until its own time is over and the rows that
it waits for have ended. Cost: one heap operation an action, one comparison chain a row.
"""

from __future__ import annotations

import heapq

import msgspec
import numpy as np

from tailwave.model import Ints
from tailwave.replay.program import Program
from tailwave.timeline.steps import BEFORE

_LONG_AGO = -(1 << 62)


class Run(msgspec.Struct, frozen=True):
    """What a run gave, in ns on the recording's clock: rows, actions and steps of the program."""

    start: Ints
    end: Ints
    action_start: Ints
    action_end: Ints
    step: Ints  # each step's time, completion to completion

    @property
    def step_us(self) -> float:
        """Median step time (us)."""
        return float(np.median(self.step)) / 1e3


def run(program: Program) -> Run:
    """Run a program in virtual time."""
    start, end, action_start, action_end = _execute(program)
    return Run(start, end, action_start, action_end, _steps(program, end, action_start))


def _execute(program: Program) -> tuple[Ints, Ints, Ints, Ints]:
    # Plain lists: indexing a numpy array element by element costs ten times as much.
    work = program.work.sum(axis=1).tolist()
    hold = program.hold.tolist()
    first_row, last_row = program.rows[:, 0].tolist(), program.rows[:, 1].tolist()
    first_target, last_target = program.targets[:, 0].tolist(), program.targets[:, 1].tolist()
    target_row, target_lag = program.target_row.tolist(), program.target_lag.tolist()
    stream, duration = program.stream.tolist(), program.duration.tolist()
    latency, gap = program.latency.tolist(), program.gap.tolist()
    dep, dep_lag = program.dep.tolist(), program.dep_lag.tolist()
    start, end = [_LONG_AGO] * len(stream), [_LONG_AGO] * len(stream)
    free = [_LONG_AGO] * (max(stream, default=-1) + 1)
    for row in np.flatnonzero(program.issue >= 0).tolist():
        start[row] = int(program.issue[row])
        end[row] = start[row] + duration[row]
        free[stream[row]] = max(free[stream[row]], end[row])
    bounds = np.searchsorted(program.lane, np.arange(len(program.lane_start) + 1)).tolist()
    began, ended = [0] * len(work), [0] * len(work)
    heap = [
        (clock, bounds[lane], lane)
        for lane, clock in enumerate(program.lane_start.tolist())
        if bounds[lane + 1] > bounds[lane]
    ]
    heapq.heapify(heap)
    while heap:
        clock, action, lane = heap[0]
        began[action] = clock
        for row in range(first_row[action], last_row[action]):
            begin = clock + latency[row]
            queue = stream[row]
            ready = free[queue] + gap[row]
            begin = max(begin, ready)
            other = dep[row]
            if other >= 0:
                ready = end[other] + dep_lag[row]
                begin = max(begin, ready)
            start[row] = begin
            begin += duration[row]
            end[row] = begin
            free[queue] = max(free[queue], begin)
        clock += hold[action]
        for target in range(first_target[action], last_target[action]):
            done = end[target_row[target]] + target_lag[target]
            clock = max(clock, done)
        ended[action] = clock
        action += 1
        if action < bounds[lane + 1]:
            heapq.heapreplace(heap, (clock + work[action], action, lane))
        else:
            heapq.heappop(heap)
    return (
        np.array(start, dtype=np.int64),
        np.array(end, dtype=np.int64),
        np.array(began, dtype=np.int64),
        np.array(ended, dtype=np.int64),
    )


def _steps(program: Program, end: Ints, action_start: Ints) -> Ints:
    """Step times, completion to completion, as the recording's own steps are measured."""
    boundary = np.zeros(program.step_count + 1, dtype=np.int64)
    marks = program.mark >= 0
    boundary[program.mark[marks]] = action_start[marks]
    completion = boundary[1:].copy()
    mine = program.counts & (program.row_step >= 0)
    np.maximum.at(completion, program.row_step[mine], end[mine])
    completion = np.maximum.accumulate(completion)
    before = program.counts & (program.row_step == BEFORE)
    opened = int(end[before].max(initial=boundary[0]))
    return np.diff(np.concatenate([[min(opened, int(completion[0]))], completion]))
