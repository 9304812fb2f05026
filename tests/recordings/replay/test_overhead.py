"""The profiler's cost, taken off exactly: so much for each thing logged, within floors."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.replay.overhead import (
    Overhead,
    host_speed_while_recorded,
    unprofiled,
)
from tailwave.recordings.timeline.hostwork import Activity
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import case_of, program_of

# What logging one of each costs (ns).
OPERATOR, CALL, FRAME = 1_500, 1_000, 500


def _overhead(timeline: Timeline) -> Overhead:
    case = case_of(timeline)
    return unprofiled(case, program_of(case))


def _likely_host_ns(timeline: Timeline) -> int:
    """Host time of the likely program: work and calls."""
    likely = _overhead(timeline).likely
    return int(likely.work.sum() + likely.hold.sum())


def _about(ns: float) -> object:
    """Equal but for the nanosecond that each rounding may lose."""
    return pytest.approx(ns, abs=2)


def _launch() -> Trace:
    """One launch 100 us into a step of 200, in a call of 4 us."""
    return Trace().step(0, 200).launch(100, 104, kernel("gemm", 109, 119))


def test_a_runtime_call_costs() -> None:
    """Without the profiler each logged call takes the recorder's microsecond less."""
    assert _likely_host_ns(_launch().build()) == _about(200_000 - CALL)
    more = _launch().call("cudaGetDevice", 50, 52).call("cudaGetLastError", 53, 54)
    assert _likely_host_ns(more.build()) == _about(200_000 - 3 * CALL)


def test_an_operator_costs() -> None:
    """Nested operators cost each."""
    trace = _launch().op("aten::linear", 10, 60).op("aten::mm", 20, 50)
    assert _likely_host_ns(trace.build()) == _about(200_000 - CALL - 2 * OPERATOR)


def test_a_python_frame_costs() -> None:
    """Recorded with stacks, every frame costs too."""
    trace = _launch().frame("model.py(1): forward", 10, 60)
    assert _likely_host_ns(trace.build()) == _about(200_000 - CALL - FRAME)


def test_annotations_cost_nothing() -> None:
    """What the user marks is not what the recorder logs by itself."""
    assert _likely_host_ns(_launch().annotation("layer", 10, 60).build()) == _about(200_000 - CALL)


def test_a_quarter_of_the_recorded_work_is_real() -> None:
    """However much was logged, three quarters of the host's time are the most that goes."""
    trace = _launch()
    for number in range(100):
        trace.op("aten::view", 1 + 0.9 * number, 1.5 + 0.9 * number)
    likely = _overhead(trace.build()).likely
    launch = 1
    assert int(likely.work[launch].sum() + likely.hold[launch]) == 104_000 // 4


def test_waiting_takes_as_long_without_the_profiler() -> None:
    """Logging is taken off the host's work before a wait, never off the wait itself."""
    timeline = _launch().call("cudaStreamSynchronize", 110, 130).build()
    case = case_of(timeline)
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    wait = 2
    assert likely.hold[wait] == recorded.hold[wait]
    assert likely.target_lag.tolist() == recorded.target_lag.tolist()


def test_host_time_that_is_not_issuing_stays() -> None:
    """Preprocessing, which no recorder slows down, takes as long without one."""
    trace = (
        Trace()
        .step(0, 2_000)
        .op("decode_image", 10, 1_010)
        .launch(1_100, 1_104, kernel("gemm", 1_109, 1_119))
    )
    likely = _overhead(trace.build()).likely
    assert int(likely.work[:, Activity.STARVED].sum()) == 1_000_000


def test_a_graphs_nodes_cost_the_call_and_the_gaps() -> None:
    """Each node of a graph costs the call that launches it, and the GPU between two nodes."""
    nodes = [kernel("node", 109 + 5 * number, 113 + 5 * number) for number in range(10)]
    timeline = Trace().step(0, 200).launch(60, 100, *nodes, call="cudaGraphLaunch").build()
    likely = _overhead(timeline).likely
    launch = 1
    off = 10 * 900 + CALL
    assert int(likely.work[launch].sum() + likely.hold[launch]) == _about(100_000 - off)
    assert likely.gap.tolist()[1:] == [1_000 - 120] * 9


def test_a_gap_shorter_than_the_nodes_cost_becomes_none() -> None:
    """The recorder's share of a gap is never more than the gap."""
    nodes = [kernel("node", 109 + 4.05 * n, 113 + 4.05 * n) for n in range(10)]
    timeline = Trace().step(0, 200).launch(60, 100, *nodes, call="cudaGraphLaunch").build()
    assert _overhead(timeline).likely.gap.tolist()[1:] == [0] * 9


def test_a_single_kernel_is_no_graph() -> None:
    """The gap between kernels of calls of their own is not the recorder's."""
    trace = Trace().step(0, 200)
    trace.launch(10, 14, kernel("a", 19, 60)).launch(20, 24, kernel("b", 61, 70))
    assert _overhead(trace.build()).likely.gap.tolist()[1] == 1_000


def _launches(hold_us: float, count: int = 20) -> Timeline:
    trace = Trace().step(0, 40 * count)
    for number in range(count):
        low = 40 * number
        trace.launch(low, low + hold_us, kernel("gemm", low + hold_us, low + hold_us + 1))
    return trace.build()


@pytest.mark.parametrize(
    ("hold_us", "speed"), [(2.0, 1.0), (4.0, 1.0), (5.0, 0.8), (8.0, 0.5), (20.0, 0.5)]
)
def test_the_launch_calls_tell_how_slow_the_host_was(hold_us: float, speed: float) -> None:
    """Four microseconds are a warm host's; one is never taken to be under half as fast."""
    case = case_of(_launches(hold_us))
    assert host_speed_while_recorded(case, program_of(case)) == pytest.approx(speed)


def test_few_launches_tell_nothing_of_the_host() -> None:
    """From fewer than eight calls no speed is concluded: the host counts as warm."""
    case = case_of(_launches(8.0, count=7))
    assert host_speed_while_recorded(case, program_of(case)) == 1.0


def test_eight_launches_tell() -> None:
    """From eight calls on the host's speed is known."""
    case = case_of(_launches(8.0, count=8))
    assert host_speed_while_recorded(case, program_of(case)) == 0.5


def test_a_slow_host_runs_at_its_long_run_speed() -> None:
    """A host recorded at half its speed needs half the time that remains for its work."""
    case = case_of(_launches(8.0))
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    launches = slice(2, 20)
    work = likely.work.sum(axis=1)[launches] + likely.hold[launches]
    assert work.tolist() == [(40_000 - CALL) // 2] * 18


def test_the_range_is_that_of_the_hosts_work() -> None:
    """The likely host work times 0.6 to 1.7; the slowest is no slower than recorded."""
    case = case_of(_launches(8.0))
    found = unprofiled(case, program_of(case))
    assert found.host_speed == 0.5
    one = 5
    for program, factor in ((found.fastest, 0.3), (found.likely, 0.5), (found.slowest, 0.85)):
        spent = program.work[one].sum() + program.hold[one]
        assert spent == _about((40_000 - CALL) * factor)


def test_a_warm_host_was_no_slower_than_recorded() -> None:
    """Where the host was warm, the slow end of the range is the recorded work less the logging."""
    case = case_of(_launches(4.0))
    found = unprofiled(case, program_of(case))
    assert found.slowest.work.tolist() == found.likely.work.tolist()


def test_outside_the_steps_nothing_is_taken_off() -> None:
    """The host's work after the last step keeps its time."""
    trace = _launch().op("aten::view", 210, 215).launch(220, 230, kernel("gemm", 240, 250))
    case = case_of(trace.build())
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    assert likely.hold[-1] == recorded.hold[-1]
    assert likely.work[-1].tolist() == recorded.work[-1].tolist()


def test_nothing_logged_is_nothing_taken_off() -> None:
    """A program without logged events on a warm host is likely as it was recorded."""
    case = case_of(_launches(4.0))
    recorded = program_of(case)
    silent = msgspec.structs.replace(recorded, logged=np.zeros_like(recorded.logged))
    likely = unprofiled(case, silent).likely
    assert likely.work.tolist() == recorded.work.tolist()
    assert likely.hold.tolist() == recorded.hold.tolist()


@pytest.mark.parametrize("kind", ["nsys", "record"])
def test_of_a_recorder_of_unknown_cost_nothing_is_taken_off(kind: str) -> None:
    """The likely program is the recorded one; its host may have been as much slower as any's."""
    timeline = msgspec.structs.replace(_launches(8.0), kind=kind)
    case = case_of(timeline)
    recorded = program_of(case)
    found = unprofiled(case, recorded)
    assert (found.known, found.host_speed) == (False, 1.0)
    assert found.likely is recorded
    assert found.slowest is recorded
    one = 5
    spent = found.fastest.work[one].sum() + found.fastest.hold[one]
    assert spent == _about(40_000 * 0.6)


def test_of_a_recorder_of_unknown_cost_graphs_keep_their_gaps() -> None:
    """What the recorder does between two nodes of a graph is not known either."""
    nodes = [kernel("node", 109 + 5 * number, 113 + 5 * number) for number in range(10)]
    timeline = Trace().step(0, 200).launch(60, 100, *nodes, call="cudaGraphLaunch").build()
    likely = _overhead(msgspec.structs.replace(timeline, kind="nsys")).likely
    assert likely.gap.tolist()[1:] == [1_000] * 9
