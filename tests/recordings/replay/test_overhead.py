"""The likely program: one share of the host's issuing, and nothing of what it does besides."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.model import Timeline
from tailwave.recordings.replay.overhead import (
    FASTEST,
    FRAME_NS,
    GPU_SPREAD,
    REAL,
    SLOWEST,
    Overhead,
    unprofiled,
)
from tailwave.recordings.timeline.hostwork import Activity
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import case_of, program_of


def _overhead(timeline: Timeline) -> Overhead:
    case = case_of(timeline)
    return unprofiled(case, program_of(case))


def _likely_host_ns(timeline: Timeline) -> int:
    """Host time of the likely program: work and calls."""
    likely = _overhead(timeline).likely
    return int(likely.work.sum() + likely.hold.sum())


def _about(ns: float) -> object:
    """Equal but for the nanosecond that each rounding may lose."""
    return pytest.approx(ns, abs=3)


def _launch() -> Trace:
    """One launch 100 us into a step of 200, in a call of 4 us; the last call ends the step."""
    trace = Trace().step(0, 200).launch(100, 104, kernel("gemm", 109, 119))
    return trace.call("cudaGetLastError", 199, 200)


def test_a_share_of_issuing_is_left() -> None:
    """The launch, and the time around it, take two thirds of the recorded time, or little less."""
    assert _likely_host_ns(_launch().build()) == _about(200_000 * REAL)


def test_how_much_was_logged_does_not_matter() -> None:
    """The share is that of all issuing, whatever operators and calls it was logged as."""
    trace = _launch().op("aten::linear", 10, 60).op("aten::mm", 20, 50)
    trace.call("cudaGetDevice", 51, 52).annotation("layer", 10, 60)
    assert _likely_host_ns(trace.build()) == _about(200_000 * REAL)


def test_python_frames_cost_besides() -> None:
    """Recorded with stacks, each frame is taken off the work in which it was logged."""
    trace = _launch().frame("model.py(1): forward", 10, 60).frame("model.py(2): layer", 20, 50)
    assert _likely_host_ns(trace.build()) == _about((200_000 - 2 * FRAME_NS) * REAL)


def test_a_quarter_of_the_host_work_is_no_frames_cost() -> None:
    """However many frames were logged, three quarters of the host's time are the most that goes."""
    trace = _launch()
    for number in range(300):
        trace.frame("model.py(1): tiny", 1 + 0.3 * number, 1.2 + 0.3 * number)
    likely = _overhead(trace.build()).likely
    launch = 1
    spent = int(likely.work[launch].sum() + likely.hold[launch])
    assert spent == _about(104_000 / 4 * REAL)


def test_waiting_takes_as_long_without_the_profiler() -> None:
    """The share is one of the host's work before a wait, never of the wait itself."""
    timeline = _launch().call("cudaStreamSynchronize", 110, 130).build()
    case = case_of(timeline)
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    wait = 2
    assert likely.hold[wait] == recorded.hold[wait]
    assert likely.target_lag.tolist() == recorded.target_lag.tolist()


def test_host_time_that_is_not_issuing_stays() -> None:
    """Preprocessing, which no recorder slows down, takes as long, with the pauses beside it."""
    trace = (
        Trace()
        .step(0, 2_000)
        .op("decode_image", 10, 1_010)
        .launch(1_100, 1_104, kernel("gemm", 1_109, 1_119))
    )
    likely = _overhead(trace.build()).likely
    assert int(likely.work[:, Activity.STARVED].sum()) == 1_100_000


def test_a_launch_arrives_earlier_by_what_its_call_takes_less() -> None:
    """Of 9 us from call to kernel 4 are the call's; they shrink, and the others stay."""
    case = case_of(_launch().build())
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    assert recorded.latency.tolist() == [9_000]
    assert likely.latency.tolist() == [_about(9_000 - (1 - REAL) * 4_000)]


def test_a_graphs_nodes_cost_the_gaps() -> None:
    """Each node of a graph costs the GPU between two nodes."""
    nodes = [kernel("node", 109 + 5 * number, 113 + 5 * number) for number in range(10)]
    timeline = Trace().step(0, 200).launch(60, 100, *nodes, call="cudaGraphLaunch").build()
    assert _overhead(timeline).likely.gap.tolist()[1:] == [1_000 - 120] * 9


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


def _steps(*lengths: int) -> Timeline:
    """Steps of one launch and one operator each, as long (us) as given."""
    trace = Trace()
    begin = 0
    for length in lengths:
        trace.step(begin, begin + length).op("aten::mm", begin + 1, begin + 20)
        trace.launch(begin + 10, begin + 14, kernel("gemm", begin + 15, begin + 16))
        trace.call("cudaGetLastError", begin + length - 1, begin + length)
        begin += length
    return trace.build()


@pytest.mark.parametrize(
    ("lengths", "quiet"),
    [
        ((100, 100, 100), 100),
        ((100, 130, 130), 100),
        ((130, 100), 100),
        ((100, 110, 120, 130, 140, 150), 110),
    ],
)
def test_the_quieter_third_of_the_steps_tells(lengths: tuple[int, ...], quiet: int) -> None:
    """Issuing takes what it took in the steps that were disturbed least; their order stays."""
    likely = _overhead(_steps(*lengths)).likely
    spent = int(likely.work.sum() + likely.hold.sum())
    assert spent == pytest.approx(1_000 * quiet * len(lengths) * REAL, abs=10 * len(lengths))


def test_steps_that_do_less_are_not_quieter() -> None:
    """Steps of two kinds are compared by what a launch or wait takes in them."""
    trace = Trace()
    begin = 0
    for launches in (3, 1, 3):
        trace.step(begin, begin + 40 * launches)
        for _ in range(launches):
            trace.launch(begin + 10, begin + 14, kernel("gemm", begin + 15, begin + 16))
            begin += 40
        trace.call("cudaGetLastError", begin - 1, begin)
    assert _likely_host_ns(trace.build()) == pytest.approx(280_000 * REAL, abs=20)


def test_the_range_is_of_all_that_the_host_does() -> None:
    """The host may be so much faster or slower than likely, in the input pipeline too."""
    trace = Trace().step(0, 2_000).op("decode_image", 10, 1_010)
    found = _overhead(trace.launch(1_100, 1_104, kernel("gemm", 1_109, 1_119)).build())
    host = [
        int(program.work.sum() + program.hold.sum())
        for program in (found.fastest, found.likely, found.slowest)
    ]
    assert host[0] == _about(host[1] * FASTEST)
    assert host[2] == _about(host[1] * SLOWEST)


def test_the_range_is_of_the_kernels_too() -> None:
    """Clocks and memory differ from run to run."""
    found = _overhead(_launch().build())
    assert found.likely.duration.tolist() == [10_000]
    assert found.fastest.duration.tolist() == [_about(10_000 * (1 - GPU_SPREAD))]
    assert found.slowest.duration.tolist() == [_about(10_000 * (1 + GPU_SPREAD))]


def test_outside_the_steps_nothing_is_taken_off() -> None:
    """The host's work after the last step keeps its time."""
    trace = _launch().op("aten::view", 210, 215).launch(220, 230, kernel("gemm", 240, 250))
    case = case_of(trace.build())
    recorded = program_of(case)
    likely = unprofiled(case, recorded).likely
    assert likely.hold[-1] == recorded.hold[-1]
    assert likely.work[-1].tolist() == recorded.work[-1].tolist()


@pytest.mark.parametrize("kind", ["nsys", "record"])
def test_of_a_recorder_of_unknown_cost_nothing_is_taken_off(kind: str) -> None:
    """The likely program is the recorded one; its host may have been as much slower as any's."""
    case = case_of(msgspec.structs.replace(_launch().build(), kind=kind))
    recorded = program_of(case)
    found = unprofiled(case, recorded)
    assert not found.known
    assert found.likely is recorded
    assert found.slowest is recorded
    assert int(found.fastest.work.sum() + found.fastest.hold.sum()) == _about(200_000 * FASTEST)


def test_of_a_recorder_of_unknown_cost_graphs_keep_their_gaps() -> None:
    """What the recorder does between two nodes of a graph is not known either."""
    nodes = [kernel("node", 109 + 5 * number, 113 + 5 * number) for number in range(10)]
    timeline = Trace().step(0, 200).launch(60, 100, *nodes, call="cudaGraphLaunch").build()
    likely = _overhead(msgspec.structs.replace(timeline, kind="nsys")).likely
    assert likely.gap.tolist()[1:] == [1_000] * 9
