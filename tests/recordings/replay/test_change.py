"""The pieces that changes are made of."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.recordings.replay.change import (
    a_step,
    call_names,
    drop_idle_issuers,
    in_steps,
    issuer,
    issues,
    waits,
    without_targets,
    without_work,
)
from tailwave.recordings.timeline.hostwork import Activity
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import Action, Row, begin, case_of, program, program_of

# Two steps: a launch of two rows and a wait for one of them, then a launch of one row.
STEPS = program(
    Row(10, latency=5),
    Row(20, latency=5),
    Row(30, latency=5, step=1),
    actions=(
        begin(0),
        Action(work=3, hold=4, issues=2),
        Action(work=5, hold=6, waits=((1, 7), (0, 1))),
        begin(1, work=8),
        Action(work=9, hold=2, issues=1, step=1),
        begin(2),
    ),
)


def test_what_follows_the_last_step_is_in_no_step() -> None:
    """Actions before the first step and after the last are left alone."""
    outside = msgspec.structs.replace(STEPS, step=np.array([-1, 0, 0, 1, 1, 2]))
    assert in_steps(outside).tolist() == [False, True, True, True, True, False]


def test_actions_tell_what_they_issue_and_wait_for() -> None:
    """An action that names rows issues them, one that names targets waits."""
    assert issues(STEPS).tolist() == [False, True, False, False, True, False]
    assert waits(STEPS).tolist() == [False, False, True, False, False, False]


def test_each_row_knows_its_issuer() -> None:
    """Rows that were issued before the recording have none."""
    early = program(Row(1, issue=0), Row(2), actions=(begin(0), Action(issues=1), begin(1)))
    assert issuer(STEPS).tolist() == [1, 1, 4]
    assert issuer(early).tolist() == [-1, 1]


def test_work_is_taken_away_by_activity() -> None:
    """Only the activities named lose their time, and only before the actions named."""
    both = STEPS.work.copy()
    both[2, Activity.SYNC] = 50
    changed = without_work(
        msgspec.structs.replace(STEPS, work=both), in_steps(STEPS), (Activity.SYNC,)
    )
    assert changed.work.tolist() == STEPS.work.tolist()


def test_actions_stop_waiting() -> None:
    """An action without targets waits for nothing; those of the others stay."""
    two = program(
        Row(1),
        Row(2),
        actions=(begin(0), Action(issues=2, waits=((0, 5),)), Action(waits=((1, 6),)), begin(1)),
    )
    changed = without_targets(two, np.array([False, True, False, False]))
    assert waits(changed).tolist() == [False, False, True, False]
    assert (changed.target_row.tolist(), changed.target_lag.tolist()) == ([1], [6])


def test_launches_that_lost_their_rows_cost_nothing() -> None:
    """A call whose rows are gone is gone with the issuing before it; others keep their time."""
    left = STEPS.keep_rows(np.array([True, True, False]))
    changed = drop_idle_issuers(left, issues(STEPS))
    assert changed.hold.tolist() == [0, 4, 6, 0, 0, 0]
    assert changed.work.sum(axis=1).tolist() == [0, 3, 5, 8, 0, 0]


def test_step_boundaries_have_no_name() -> None:
    """Each action has the name of its call, a boundary -1."""
    case = case_of(Trace().step(0, 50).launch(10, 15, kernel("gemm", 18, 30)).build())
    names = call_names(case, program_of(case)).tolist()
    assert names == [-1, case.timeline.names.index("cudaLaunchKernel"), -1]


@pytest.mark.parametrize(
    ("count", "worded"), [(4, "2 a step"), (3, "1.5 a step"), (2, "1 a step"), (1, "1 in 2 steps")]
)
def test_what_is_rarer_than_steps_is_not_rounded_to_none(count: int, worded: str) -> None:
    """How often something happens is worded by the step, and never as 0."""
    assert a_step(count, STEPS) == worded
