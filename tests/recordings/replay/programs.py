"""Programs written by hand: what the host does in order, and the GPU rows that it issues.

Times are in ns. Rows are given in order of issue; an action issues the next so many of them::

    program(
        Row(duration=30, latency=5),
        actions=(begin(0), Action(work=10, hold=4, issues=1), begin(1, work=6)),
    )
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Ints, Timeline
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.replay.program import Dependency, Program
from tailwave.recordings.replay.recorded import compile_program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.prepare import prepare


class Row(msgspec.Struct, frozen=True):
    """One GPU row: how long it runs, and what it waits for."""

    duration: int
    latency: int = 0
    gap: int = 0
    stream: int = 0
    dep: int = -1
    dep_lag: int = 0
    dep_kind: int = Dependency.EVENT
    issue: int = -1
    step: int = 0
    counts: bool = True


class Action(msgspec.Struct, frozen=True):
    """One action of a lane: the work before it, its own time, what it issues and waits for."""

    work: int = 0
    hold: int = 0
    issues: int = 0
    waits: tuple[tuple[int, int], ...] = ()  # the row, and the time to notice its end
    lane: int = 0
    step: int = 0
    mark: int = -1


def begin(step: int, work: int = 0) -> Action:
    """Describe the boundary at which a step begins, and the one before it ends."""
    return Action(work=work, mark=step, step=step)


def program(*rows: Row, actions: tuple[Action, ...], lane_start: tuple[int, ...] = (0,)) -> Program:
    """Put rows and actions (lane after lane) into the columns of a program."""
    first = len(rows) - sum(action.issues for action in actions)
    bounds = first + np.cumsum([0, *(action.issues for action in actions)])
    targets = np.cumsum([0, *(len(action.waits) for action in actions)])
    waits = [wait for action in actions for wait in action.waits]
    work = np.zeros((len(actions), len(Activity)), dtype=np.int64)
    work[:, Activity.ISSUE] = [action.work for action in actions]
    return Program(
        lane=_ints([action.lane for action in actions]),
        work=work,
        logged=np.zeros((len(actions), 3), dtype=np.int64),
        hold=_ints([action.hold for action in actions]),
        rows=np.column_stack([bounds[:-1], bounds[1:]]),
        targets=np.column_stack([targets[:-1], targets[1:]]),
        target_row=_ints([row for row, _ in waits]),
        target_lag=_ints([lag for _, lag in waits]),
        mark=_ints([action.mark for action in actions]),
        step=_ints([action.step for action in actions]),
        host_row=np.full(len(actions), -1, dtype=np.int64),
        activity=np.full(len(actions), Activity.ISSUE, dtype=np.uint8),
        lane_start=_ints(list(lane_start)),
        row=np.arange(len(rows)),
        row_step=_ints([row.step for row in rows]),
        stream=_ints([row.stream for row in rows]),
        duration=_ints([row.duration for row in rows]),
        latency=_ints([row.latency for row in rows]),
        gap=_ints([row.gap for row in rows]),
        dep=_ints([row.dep for row in rows]),
        dep_lag=_ints([row.dep_lag for row in rows]),
        dep_kind=np.array([row.dep_kind for row in rows], dtype=np.uint8),
        issue=_ints([row.issue for row in rows]),
        counts=_flags([row.counts for row in rows]),
        opens=min(lane_start),
        weight=np.ones(max(action.mark for action in actions)),
    )


def case_of(timeline: Timeline) -> Case:
    """Prepare a timeline as the commands do."""
    return prepare(timeline).case


def program_of(case: Case) -> Program:
    """Compile the recording of a case."""
    return compile_program(case)


def forecast_of(timeline: Timeline) -> Forecast:
    """Prepare a timeline for what-ifs."""
    return forecast(case_of(timeline))


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _flags(values: list[bool]) -> Flags:
    return np.array(values, dtype=bool)
