"""The event core keeps the order that lanes, streams and dependencies impose, to the nanosecond."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.program import Dependency
from tailwave.recordings.timeline.steps import AFTER, BEFORE
from tests.recordings.replay.programs import Action, Row, begin, program


def test_a_row_starts_when_its_launch_arrives() -> None:
    """On an idle stream a row starts its latency after the call that launched it began."""
    result = run(
        program(
            Row(30, latency=5),
            actions=(begin(0), Action(work=10, hold=4, issues=1), begin(1, work=6)),
            lane_start=(100,),
        )
    )
    assert result.action_start.tolist() == [100, 110, 120]
    assert result.action_end.tolist() == [100, 114, 120]
    assert result.start.tolist() == [115]
    assert result.end.tolist() == [145]
    assert result.step.tolist() == [45]


def test_a_row_waits_for_the_row_before_it_in_its_stream() -> None:
    """On a busy stream a row starts its gap after the one before it has ended."""
    result = run(
        program(
            Row(30, latency=5),
            Row(7, latency=5, gap=2),
            actions=(
                begin(0),
                Action(issues=1),
                Action(work=1, issues=1),
                begin(1),
            ),
        )
    )
    assert result.start.tolist() == [5, 37]


def test_streams_run_side_by_side() -> None:
    """Rows of different streams do not wait for each other unless they depend on each other."""
    result = run(
        program(
            Row(30, latency=5),
            Row(7, latency=5, stream=1),
            actions=(begin(0), Action(issues=2), begin(1)),
        )
    )
    assert result.start.tolist() == [5, 5]


def test_a_row_waits_for_the_row_of_another_stream_that_it_depends_on() -> None:
    """A dependency holds a row until its lag after the end of what it depends on."""
    result = run(
        program(
            Row(30, latency=5),
            Row(7, latency=5, stream=1, dep=0, dep_lag=3),
            actions=(begin(0), Action(issues=2), begin(1)),
        )
    )
    assert result.start.tolist() == [5, 38]


def test_a_row_may_wait_for_one_that_is_issued_later() -> None:
    """What held a row may have been launched after it; the row's whole stream waits until then."""
    result = run(
        program(
            Row(10, latency=5, dep=2, dep_kind=Dependency.HOLDER),
            Row(10, latency=5),
            Row(40, latency=5, stream=1),
            actions=(
                begin(0),
                Action(issues=2),
                Action(work=20, issues=1),
                begin(1),
            ),
        )
    )
    assert result.start.tolist() == [65, 75, 25]


def test_the_host_waits_for_a_row_and_needs_time_to_notice() -> None:
    """A wait returns its lag after the row's end, and everything after it is as much later."""
    result = run(
        program(
            Row(50, latency=5),
            actions=(
                begin(0),
                Action(issues=1),
                Action(work=1, hold=2, waits=((0, 8),)),
                begin(1, work=4),
            ),
        )
    )
    assert result.action_end.tolist() == [0, 0, 63, 67]


def test_a_wait_for_finished_work_takes_its_own_time() -> None:
    """A call that finds its row done holds the host no longer than the call itself takes."""
    result = run(
        program(
            Row(10, latency=5),
            actions=(
                begin(0),
                Action(issues=1),
                Action(work=100, hold=2, waits=((0, 8),)),
                begin(1),
            ),
        )
    )
    assert result.action_end.tolist() == [0, 0, 102, 102]


@pytest.mark.parametrize("waits", [((0, 0), (1, 0)), ((1, 0), (0, 0))])
def test_of_several_rows_the_last_to_end_holds_the_host(
    waits: tuple[tuple[int, int], ...],
) -> None:
    """A call that waits for rows of two streams returns after the later one."""
    result = run(
        program(
            Row(10, latency=5),
            Row(60, latency=5, stream=1),
            actions=(begin(0), Action(issues=2, waits=waits), begin(1)),
        )
    )
    assert result.action_end.tolist() == [0, 65, 65]


def test_a_lane_is_parked_until_another_lane_has_issued_what_it_waits_for() -> None:
    """A lane that waits for work that is not even launched goes on when that work has ended."""
    result = run(
        program(
            Row(20, latency=5),
            actions=(
                begin(0),
                Action(work=1, waits=((0, 3),)),
                begin(1, work=2),
                Action(lane=1, work=0, issues=1),
            ),
            lane_start=(0, 70),
        )
    )
    assert result.action_end.tolist() == [0, 98, 100, 70]


def test_lanes_put_their_work_into_a_shared_stream_in_the_order_of_time() -> None:
    """Whoever calls first is first in the stream, whichever lane it is."""
    result = run(
        program(
            Row(10, latency=5),
            Row(10, latency=5),
            actions=(
                begin(0),
                Action(work=50, issues=1),
                begin(1),
                Action(lane=1, issues=1),
            ),
            lane_start=(0, 40),
        )
    )
    assert result.start.tolist() == [55, 45]


def test_a_circle_of_rows_is_broken() -> None:
    """Where two rows wait for each other, the first stream's gives way, and both run."""
    result = run(
        program(
            Row(10, latency=5, dep=1, dep_lag=1),
            Row(10, latency=5, stream=1, dep=0, dep_lag=1),
            actions=(begin(0), Action(issues=2), begin(1)),
        )
    )
    assert result.start.tolist() == [5, 16]


def test_a_circle_through_the_host_is_broken() -> None:
    """A lane that waits for a row which waits for the lane's own next launch does not stop."""
    result = run(
        program(
            Row(10, latency=5, dep=1),
            Row(10, latency=5, stream=1),
            actions=(
                begin(0),
                Action(issues=1, waits=((0, 0),)),
                Action(work=1, issues=1),
                begin(1),
            ),
        )
    )
    assert result.start.tolist() == [5, 21]
    assert result.action_end.tolist() == [0, 15, 16, 16]


def test_a_circle_of_lanes_is_broken() -> None:
    """Of two lanes that wait for each other's next launch, the first to be parked goes on."""
    result = run(
        program(
            Row(10, latency=5),
            Row(10, latency=5, stream=1),
            actions=(
                begin(0),
                Action(work=1, waits=((1, 2),)),
                Action(work=1, issues=1),
                begin(1),
                Action(lane=1, work=0, waits=((0, 2),)),
                Action(lane=1, work=1, issues=1),
            ),
            lane_start=(0, 50),
        )
    )
    assert result.start.tolist() == [7, 56]
    assert result.action_end.tolist() == [0, 1, 2, 2, 50, 51]


def test_work_issued_before_the_recording_runs_first() -> None:
    """Rows that no action issues are there from the start; the first keeps its recorded start."""
    result = run(
        program(
            Row(30, issue=90, step=BEFORE),
            Row(5, gap=1, step=BEFORE),
            Row(10, latency=5, gap=2),
            actions=(begin(0), Action(issues=1), begin(1)),
            lane_start=(100,),
        )
    )
    assert result.start.tolist() == [90, 121, 128]


def test_a_step_lasts_from_completion_to_completion() -> None:
    """A step is complete when its host code has ended and its last counted row is done."""
    result = run(
        program(
            Row(30, latency=5, step=0),
            Row(5, latency=5, step=1),
            Row(900, latency=5, step=1, stream=1, counts=False),
            Row(900, latency=5, step=AFTER, stream=2),
            actions=(
                begin(0),
                Action(work=10, issues=1),
                begin(1, work=2),
                Action(work=40, issues=2),
                begin(2, work=20),
                Action(issues=1, step=2),
            ),
        )
    )
    assert result.end.tolist() == [45, 62, 957, 977]
    # Step 0 ends with its row at 45, step 1 with its host code at 72.
    assert result.step.tolist() == [45, 27]


def test_the_first_step_opens_when_the_work_before_it_is_done() -> None:
    """What was launched before the first step is no part of it."""
    result = run(
        program(
            Row(25, issue=0, step=BEFORE),
            Row(10, latency=5),
            actions=(begin(0), Action(issues=1), begin(1)),
        )
    )
    assert result.step.tolist() == [10]


def test_the_step_time_is_that_of_the_mean_step() -> None:
    """A run's one figure is the mean of its steps by their weights, in microseconds."""
    works = (0, 1_000, 2_000, 9_000)
    even = program(actions=tuple(begin(step, work) for step, work in enumerate(works)))
    assert run(even).step_us == pytest.approx((1 + 2 + 9) / 3)
    weighed = msgspec.structs.replace(even, weight=np.array([1.0, 6.0, 1.0]))
    assert run(weighed).step_us == pytest.approx((1 + 6 * 2 + 9) / 8)


def test_running_a_program_leaves_it_as_it_was() -> None:
    """Breaking a circle changes the run, never the program: a second run is the same."""
    circular = program(
        Row(10, latency=5, dep=1, dep_lag=1),
        Row(10, latency=5, stream=1, dep=0, dep_lag=1),
        actions=(begin(0), Action(issues=2), begin(1)),
    )
    assert run(circular).start.tolist() == run(circular).start.tolist()
    assert circular.dep.tolist() == [1, 0]
