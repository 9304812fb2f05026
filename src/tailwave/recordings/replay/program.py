"""A recording as a program that can be run again: host actions, and the GPU work they issue.

Only what orders the GPU's work remains of the host: launches, waits and step boundaries. The
time between two of them is host work, kept by activity so that a rule can take one kind away.
Of the GPU remain the rows with their durations and what each had to wait for.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, Floats, Ints

_PER_ACTION = (
    "lane", "work", "logged", "hold", "rows", "targets", "mark", "step", "host_row", "activity",
)  # fmt: skip
_PER_ROW = (
    "row", "row_step", "stream", "duration", "latency", "gap", "dep_lag", "dep_kind", "issue",
    "counts",
)  # fmt: skip


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

    opens: int  # when the first step begins, unless a row before it ends later
    weight: Floats  # how many recorded steps each step stands for

    @property
    def step_count(self) -> int:
        """Number of steps."""
        return len(self.weight)

    @property
    def events(self) -> int:
        """Number of actions and rows that a run processes."""
        return len(self.lane) + len(self.row)

    def keep_rows(self, keep: Flags) -> Program:
        """Leave out the other GPU rows; actions and dependencies that named them lose them."""
        renumber = np.cumsum(keep) - 1
        before = np.concatenate([[0], np.cumsum(keep)])
        dep = np.where((self.dep >= 0) & keep[self.dep], renumber[self.dep], -1)[keep]
        alive = np.asarray(keep[self.target_row], dtype=bool)
        alive_before = np.concatenate([[0], np.cumsum(alive)])
        return msgspec.structs.replace(
            self,
            **{name: getattr(self, name)[keep] for name in _PER_ROW},
            dep=dep,
            rows=before[self.rows],
            targets=alive_before[self.targets],
            target_row=renumber[self.target_row[alive]],
            target_lag=self.target_lag[alive],
        )

    def keep_actions(self, keep: Flags) -> Program:
        """Leave out the other actions; what they issued must have been left out before."""
        return msgspec.structs.replace(
            self, **{name: getattr(self, name)[keep] for name in _PER_ACTION}
        )


def same(one: Program, other: Program) -> bool:
    """Tell whether two programs are alike in everything, so that they run alike."""
    return one is other or all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__
    )


def expanded(bounds: Ints) -> tuple[Ints, Ints]:
    """Write out some bounds (low, high): each index within them, and which bounds it is in."""
    count = bounds[:, 1] - bounds[:, 0]
    owner = np.repeat(np.arange(len(bounds)), count)
    first = np.repeat(bounds[:, 0] - (np.cumsum(count) - count), count)
    return first + np.arange(len(owner)), owner
