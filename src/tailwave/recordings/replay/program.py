"""A recording as a program that can be run again: host actions, and the GPU work they issue.

Only what orders the GPU's work remains of the host: launches, waits and step boundaries. The
time between two of them is host work, kept by activity so that a rule can take one kind away.
Of the GPU remain the rows with their durations and what each had to wait for.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, Ints

# Launch to start on an idle GPU when the recording never shows it (ns): H200, profiled and not,
# 4 to 10 us.
DEFAULT_LATENCY_NS = 5_000


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
