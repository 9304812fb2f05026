"""A measured time: the host is scaled until a step takes it, or it is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import Timeline
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.measured import NEAR, ImpossibleTimeError, at_measured
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import case_of, program_of


def _compiled(timeline: Timeline) -> tuple[Case, Program]:
    case = case_of(timeline)
    return case, program_of(case)


def _host_bound() -> Timeline:
    """Three steps of 1,000 us, in which ten kernels of 10 us run."""
    trace = Trace()
    for number in range(30):
        low = 100 * number
        if number % 10 == 0:
            trace.step(low, low + 1_000)
        trace.launch(low + 50, low + 54, kernel("gemm", low + 58, low + 68))
    return trace.build()


def _gpu_bound() -> Timeline:
    """One step whose kernel of 900 us fills it."""
    return Trace().step(0, 20).launch(5, 10, kernel("gemm", 14, 914)).build()


def _starved() -> Timeline:
    """A step of 1,400 us, of which an operator that launches nothing takes 1,000."""
    trace = Trace().step(0, 1_400).op("decode_image", 0, 1_000)
    for at in range(1_000, 1_400, 50):
        trace.op("aten::mm", at, at + 49)
        trace.launch(at + 40, at + 44, kernel("gemm", at + 45, at + 49))
    return trace.build()


CASE, PROGRAM = _compiled(_host_bound())


@given(st.floats(110, 995))
def test_a_step_takes_what_was_measured(us: float) -> None:
    """Whatever lies between the GPU's own work and the recorded step is met to 0.5%."""
    found = run(at_measured(CASE, PROGRAM, round(us * 1e3))).step_us
    assert found == pytest.approx(us, rel=NEAR * 1.01)


def test_the_gpus_work_keeps_its_time() -> None:
    """The host alone is scaled where that is enough."""
    scaled = at_measured(CASE, PROGRAM, 300_000)
    assert scaled.duration.tolist() == PROGRAM.duration.tolist()
    assert scaled.gap.tolist() == PROGRAM.gap.tolist()


def test_a_likely_time_needs_no_scaling() -> None:
    """A step measured as estimated is the estimate's."""
    first = at_measured(CASE, PROGRAM, 700_000)
    again = at_measured(CASE, PROGRAM, round(run(first).step_us * 1e3))
    assert run(again).step_us == pytest.approx(700, rel=2 * NEAR)


def test_input_that_takes_long_keeps_its_time() -> None:
    """Issuing gives way first; what the host does besides stays."""
    case, program = _compiled(_starved())
    scaled = at_measured(case, program, 1_200_000)
    assert int(scaled.work[:, Activity.STARVED].sum()) == 1_000_000
    assert run(scaled).step_us == pytest.approx(1_200, rel=NEAR)


def test_input_gives_way_where_it_has_to() -> None:
    """A step shorter than the recorded input took: that was slower in the recording, too."""
    case, program = _compiled(_starved())
    scaled = at_measured(case, program, 500_000)
    assert 0 < int(scaled.work[:, Activity.STARVED].sum()) < 500_000
    assert run(scaled).step_us == pytest.approx(500, rel=NEAR)


@pytest.mark.parametrize("share", [0.96, 0.99, 1.01, 1.04])
def test_a_gpus_clock_may_differ_from_run_to_run(share: float) -> None:
    """A step that the GPU fills may take a few per cent more or less than its recording."""
    case, program = _compiled(_gpu_bound())
    measured = run(program).step_us * share
    found = run(at_measured(case, program, round(measured * 1e3))).step_us
    assert found == pytest.approx(measured, rel=NEAR)


def test_less_than_the_gpus_own_work_is_impossible() -> None:
    """No host, however fast, makes the kernels shorter; the error says how long they take."""
    with pytest.raises(ImpossibleTimeError, match="shorter than the 100 us") as caught:
        at_measured(CASE, PROGRAM, 50_000)
    assert caught.value.measured_us == 50
    assert caught.value.bound_us == pytest.approx(100, abs=1)


def test_more_than_the_recorded_step_is_impossible() -> None:
    """What was recorded holds the recorder's cost besides, so that it is longer."""
    with pytest.raises(ImpossibleTimeError, match="longer than the recorded one of 989 us"):
        at_measured(CASE, PROGRAM, 1_100_000)


@pytest.mark.parametrize("kind", ["nsys", "record"])
def test_a_recorder_of_unknown_cost_is_no_hindrance(kind: str) -> None:
    """A measured time holds whatever made the recording."""
    case, program = _compiled(msgspec.structs.replace(_host_bound(), kind=kind))
    assert run(at_measured(case, program, 400_000)).step_us == pytest.approx(400, rel=NEAR)
