"""The event core: a heap of host lanes and a virtual clock.

Each lane performs its actions in order. An action issues GPU rows into their streams and then
holds its lane until its own time is over and the rows that it waits for have ended. A stream runs
its rows in order; a row starts when its launch has arrived, the row before it is done, and the
row of another stream that it waits for, if any, has ended. Whatever waits for something that has
not been simulated yet (a stream, a lane) is parked with it and goes on when it has.
"""

from __future__ import annotations

import heapq
from collections import deque

import msgspec
import numpy as np

from tailwave.model import Floats, Ints
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.steps import BEFORE

_LONG_AGO = -(1 << 62)
_UNKNOWN = -(1 << 63)


class Run(msgspec.Struct, frozen=True):
    """What a run gave, in ns on the recording's clock: rows, actions and steps of the program."""

    start: Ints
    end: Ints
    action_start: Ints
    action_end: Ints
    step: Ints  # each step's time, completion to completion
    weight: Floats  # how many steps each stands for

    @property
    def step_us(self) -> float:
        """Mean step time (us)."""
        return float(np.average(self.step, weights=self.weight)) / 1e3


def run(program: Program) -> Run:
    """Run a program in virtual time."""
    start, end, action_start, action_end = _execute(program)
    return Run(
        start, end, action_start, action_end, _steps(program, end, action_start), program.weight
    )


def _execute(program: Program) -> tuple[Ints, Ints, Ints, Ints]:
    core = _Core(program)
    core.run()
    return (
        np.array(core.start, dtype=np.int64),
        np.array(core.end, dtype=np.int64),
        np.array(core.began, dtype=np.int64),
        np.array(core.ended, dtype=np.int64),
    )


class _Core:
    """The state of one run. Plain lists: indexing a numpy array costs ten times as much."""

    def __init__(self, program: Program) -> None:
        rows, actions = len(program.row), len(program.lane)
        self.start, self.end = [_UNKNOWN] * rows, [_UNKNOWN] * rows
        self.began, self.ended = [0] * actions, [0] * actions
        self._work = program.work.sum(axis=1).tolist()
        self._hold = program.hold.tolist()
        self._rows = program.rows[:, 0].tolist(), program.rows[:, 1].tolist()
        self._targets = program.targets[:, 0].tolist(), program.targets[:, 1].tolist()
        self._target_row = program.target_row.tolist()
        self._target_lag = program.target_lag.tolist()
        self._stream = program.stream.tolist()
        self._duration = program.duration.tolist()
        self._latency, self._gap = program.latency.tolist(), program.gap.tolist()
        self._dep, self._dep_lag = program.dep.tolist(), program.dep_lag.tolist()
        self._fixed = program.issue.tolist()
        streams = max(self._stream, default=-1) + 1
        self._free = [_LONG_AGO] * streams
        self._queue: list[deque[tuple[int, int]]] = [deque() for _ in range(streams)]
        self._lane_start = program.lane_start.tolist()
        lanes = np.arange(len(self._lane_start) + 1)
        self._bounds = np.searchsorted(program.lane, lanes).tolist()
        self._heap: list[tuple[int, int, int]] = []
        # What a row keeps waiting, by row: streams, and lanes as (clock, action, lane, target).
        self._held_streams: dict[int, list[int]] = {}
        self._parked: dict[int, list[tuple[int, int, int, int]]] = {}

    def run(self) -> None:
        """Perform every action of every lane."""
        self._issue_backlog()
        for lane, clock in enumerate(self._lane_start):
            if self._bounds[lane + 1] > self._bounds[lane]:
                heapq.heappush(self._heap, (clock, self._bounds[lane], lane))
        while self._heap or self._release():
            if self._heap:
                self._perform()

    def _perform(self) -> None:
        """Perform actions in the order of time, until every lane is parked or has ended."""
        heap, began, ended, end = self._heap, self.began, self.ended, self.end
        work, hold, bounds = self._work, self._hold, self._bounds
        (first, last), (target, last_target) = self._rows, self._targets
        stream, queue, dep, latency = self._stream, self._queue, self._dep, self._latency
        begin = self._begin
        clock, action, lane = heapq.heappop(heap)
        while True:
            began[action] = clock
            for row in range(first[action], last[action]):
                if queue[stream[row]] or (dep[row] >= 0 and end[dep[row]] == _UNKNOWN):
                    self._enqueue(row, clock + latency[row])
                else:
                    begin(row, clock + latency[row])
            clock += hold[action]
            if target[action] < last_target[action]:
                self._hold_lane(clock, action, lane, target[action])
            else:
                ended[action] = clock
                action += 1
                if action < bounds[lane + 1]:
                    following = clock + work[action], action, lane
                    # A lane that runs alone needs no queue.
                    clock, action, lane = heapq.heappushpop(heap, following) if heap else following
                    continue
            if not heap:
                return
            clock, action, lane = heapq.heappop(heap)

    def _issue_backlog(self) -> None:
        """Put into the streams what was issued before the recording began."""
        owned = [first for first, last in zip(*self._rows, strict=True) if last > first]
        for row in range(min(owned, default=len(self.start))):
            self._enqueue(row, _LONG_AGO)

    def _enqueue(self, row: int, arrival: int) -> None:
        """Let a row arrive in its stream; it starts at once if nothing unknown is before it."""
        queue = self._queue[self._stream[row]]
        if not queue and self._ready(row):
            self._begin(row, arrival)
        else:
            queue.append((row, arrival))

    def _ready(self, row: int) -> bool:
        """Tell whether all that a row waits for is known; if not, have its stream woken."""
        other = self._dep[row]
        if other < 0 or self.end[other] != _UNKNOWN:
            return True
        self._held_streams.setdefault(other, []).append(self._stream[row])
        return False

    def _begin(self, row: int, arrival: int) -> None:
        stream, other, fixed = self._stream[row], self._dep[row], self._fixed[row]
        # Comparisons, since max() costs a call and this runs for every row.
        begin = self._free[stream] + self._gap[row]
        if begin < arrival:  # noqa: PLR1730
            begin = arrival
        if other >= 0 and begin < (done := self.end[other] + self._dep_lag[row]):
            begin = done
        if fixed >= 0:
            begin = fixed
        end = begin + self._duration[row]
        self.start[row], self.end[row] = begin, end
        if self._free[stream] < end:  # noqa: PLR1730
            self._free[stream] = end
        if row in self._held_streams or row in self._parked:
            self._wake(row)

    def _wake(self, row: int) -> None:
        """Go on with whatever waited for a row."""
        for stream in self._held_streams.pop(row, ()):
            self._drain(stream)
        for clock, action, lane, target in self._parked.pop(row, ()):
            self._hold_lane(clock, action, lane, target)

    def _drain(self, stream: int) -> None:
        queue = self._queue[stream]
        while queue and self._ready(queue[0][0]):
            self._begin(*queue.popleft())

    def _hold_lane(self, clock: int, action: int, lane: int, target: int) -> None:
        """Hold a lane until its targets are done, then have it perform its next action."""
        last = self._targets[1][action]
        while target < last:
            row = self._target_row[target]
            if self.end[row] == _UNKNOWN:
                self._parked.setdefault(row, []).append((clock, action, lane, target))
                return
            done = self.end[row] + self._target_lag[target]
            clock = max(clock, done)
            target += 1
        self.ended[action] = clock
        action += 1
        if action < self._bounds[lane + 1]:
            heapq.heappush(self._heap, (clock + self._work[action], action, lane))

    def _release(self) -> bool:
        """Break a circle of waits, which only a changed order can close: the first gives way."""
        for queue in self._queue:
            if queue:
                row, arrival = queue.popleft()
                self._dep[row] = -1
                self._begin(row, arrival)
                self._drain(self._stream[row])
                return True
        if self._parked:
            first = next(iter(self._parked))
            for clock, action, lane, target in self._parked.pop(first):
                self._hold_lane(clock, action, lane, target + 1)
            return True
        return False


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
    opened = int(end[before].max()) if before.any() else program.opens
    return np.diff(np.concatenate([[min(opened, int(completion[0]))], completion]))
