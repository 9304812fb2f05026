"""The forecast of a case: the step now, its range, and what changes make of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from tailwave.recordings.replay.change import Changed, issues
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.forecast import IDENTITY_TOLERANCE, Forecast
from tailwave.recordings.replay.host_changes import cuda_graph, host_speed, no_sync
from tailwave.recordings.replay.overhead import FASTEST, GPU_SPREAD, REAL, SLOWEST
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tests.builders import DTOD, PINNED_HTOD, Trace, Work, copy, kernel, steps
from tests.recordings.replay.programs import forecast_of


def _bound_by_the_host(trace: Trace) -> None:
    trace.op("aten::mm", 0, 50).launch(40, 44, kernel("gemm", 49, 59))
    trace.op("aten::mm", 50, 100).launch(90, 94, kernel("gemm", 99, 100))


def _bound_by_the_gpu(trace: Trace) -> None:
    for number in range(4):
        start = 10 * number
        trace.launch(start, start + 4, kernel("gemm", 250 * number + 5, 250 * number + 254))
    trace.call("cudaStreamSynchronize", 40, 1_000)


HOST_BOUND = forecast_of(steps(3, 100, _bound_by_the_host, Trace()))
# Steps that the GPU fills from start to end, so that only it counts.
GPU_BOUND = forecast_of(steps(3, 1_000, _bound_by_the_gpu, Trace()))


_BOTH_ORDERS = ((no_sync, cuda_graph), (cuda_graph, no_sync))


def _left_alone(case: Case, program: Program) -> Changed:
    del case
    return Changed(msgspec.structs.replace(program, hold=program.hold.copy()), ("said",))


def test_the_step_now_is_without_the_profilers_cost() -> None:
    """A share of the recorded issuing is left; the recorded time is kept beside."""
    assert HOST_BOUND.now.recorded_us == 100.0
    assert HOST_BOUND.now.us == pytest.approx(100 * REAL, rel=0.02)


def test_the_range_holds_the_step_now() -> None:
    """Its ends are a host of 0.55 and of 1.5 times its likely work."""
    assert HOST_BOUND.now.low_us == pytest.approx(FASTEST * HOST_BOUND.now.us, rel=0.03)
    assert HOST_BOUND.now.high_us == pytest.approx(SLOWEST * HOST_BOUND.now.us, rel=0.03)
    assert HOST_BOUND.now.low_us < HOST_BOUND.now.us < HOST_BOUND.now.high_us


def test_kernels_too_take_longer_or_shorter() -> None:
    """A step that the GPU alone decides on has a range of 5% either way."""
    assert GPU_BOUND.now.low_us == pytest.approx(GPU_BOUND.now.us * (1 - GPU_SPREAD), rel=0.02)
    assert GPU_BOUND.now.high_us == pytest.approx(GPU_BOUND.now.us * (1 + GPU_SPREAD), rel=0.02)


def test_a_recording_that_replays_is_sound() -> None:
    """An identity run that misses no step by more than the tolerance makes a sound forecast."""
    assert HOST_BOUND.identity_error == 0.0
    assert HOST_BOUND.sound
    just = msgspec.structs.replace(HOST_BOUND, identity_error=IDENTITY_TOLERANCE)
    assert just.sound
    doubtful = msgspec.structs.replace(HOST_BOUND, identity_error=IDENTITY_TOLERANCE + 0.01)
    assert not doubtful.sound


@pytest.mark.parametrize("cast", [HOST_BOUND, GPU_BOUND], ids=["host-bound", "GPU-bound"])
def test_what_changes_nothing_leaves_the_step(cast: Forecast) -> None:
    """A change without effect gives exactly the step now, and what it had to say."""
    outlook = cast.after(_left_alone)
    assert outlook.step_us == cast.now.us
    assert outlook.notes == ("said",)


def test_changes_follow_each_other_on_the_likely_program() -> None:
    """Two changes give what the second makes of what the first has made."""
    quick = host_speed(2.0)
    program, notes = HOST_BOUND.changed(quick, quick)
    alone = host_speed(4.0)(HOST_BOUND.case, HOST_BOUND.likely).program
    assert abs(program.work - alone.work).max() <= 1
    assert notes == ()
    assert HOST_BOUND.after(quick, quick).step_us == pytest.approx(run(program).step_us)


def test_the_order_of_changes_matters() -> None:
    """A graph is cut by waits that are still there; with the waits gone first it is whole."""

    def body(trace: Trace) -> None:
        trace.launch(10, 14, kernel("gemm", 19, 29))
        trace.call("cudaStreamSynchronize", 20, 34)
        trace.launch(50, 54, kernel("gemm", 59, 69))

    cast = forecast_of(steps(3, 100, body, Trace()))
    graphs = [issues(cast.changed(*order)[0]).sum() for order in _BOTH_ORDERS]
    assert graphs == [3, 6]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    ("begin", "needed"),
    [(205, 200.0), (55, 150.0)],
    ids=["took turns", "overlapped by half"],
)
@pytest.mark.parametrize(
    "second", [partial(kernel, "b"), partial(copy, DTOD)], ids=["kernel", "copy within the GPU"]
)
def test_streams_overlap_no_more_than_they_did(
    count: int, begin: float, needed: float, second: Callable[..., Work]
) -> None:
    """Two streams that took turns while recorded do not run at once in a changed run.

    Which of their work depends on each other is known only where it was binding: on an endlessly
    fast host a step needs the time of both, less what they overlapped by.
    """

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("a", 5, 105, stream=7))
        trace.launch(begin - 5, begin - 1, second(begin, begin + 100, stream=8))

    cast = forecast_of(steps(count, 400, body, Trace()))
    assert cast.after(host_speed(1e9)).step_us == pytest.approx(needed)


def test_a_copy_across_the_link_keeps_no_gpu_busy() -> None:
    """It may run beside whatever the GPU computes, though it did not while recorded."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("a", 5, 105, stream=7))
        moved = copy(PINNED_HTOD, 205, 305, stream=8, size=4)
        trace.launch(200, 204, moved, call="cudaMemcpyAsync")

    cast = forecast_of(steps(3, 400, body, Trace()))
    assert cast.after(host_speed(1e9)).step_us == pytest.approx(100.0, rel=0.02)


def test_steps_that_overlap_need_no_longer_for_a_change() -> None:
    """Where the next step's work runs beside this one's, no change makes the step longer for it."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("a", 5, 95, stream=7))
        trace.launch(10, 14, kernel("b", 100, 180, stream=8))

    cast = forecast_of(steps(5, 100, body, Trace()))
    assert cast.after(host_speed(1.001)).step_us <= cast.now.us


@pytest.mark.parametrize(
    ("kind", "recorder"), [("nsys", "nsys"), ("record", "tailwave's recorder")]
)
def test_an_unknown_cost_is_said_where_the_host_matters(kind: str, recorder: str) -> None:
    """Of a host-bound step nobody knows how much was the recorder's: the least time is said."""
    timeline = steps(3, 100, _bound_by_the_host, Trace())
    cast = forecast_of(msgspec.structs.replace(timeline, kind=kind))
    assert (cast.now.us, cast.now.recorded_us) == (100.0, 100.0)
    assert "".join(cast.doubts) == (
        f"What {recorder} itself cost the host is not known and was not taken off: without it a "
        f"step may take as little as {cast.now.low_us:.0f} us."
    )
    assert cast.now.low_us == pytest.approx(100 * FASTEST, abs=2.0)


def test_an_unknown_cost_of_long_steps_is_said_in_milliseconds() -> None:
    """As every other time of a step."""

    def body(trace: Trace) -> None:
        for start in (0, 2_000):
            trace.op("aten::mm", start, start + 2_000)
            trace.launch(start + 1_990, start + 1_994, kernel("gemm", start + 1_999, start + 2_000))

    cast = forecast_of(msgspec.structs.replace(steps(3, 4_000, body, Trace()), kind="nsys"))
    assert cast.now.low_us == pytest.approx(4_000 * FASTEST, abs=4.0)
    assert cast.doubts[0].endswith("without it a step may take as little as 2.20 ms.")


def test_an_unknown_cost_that_cannot_matter_is_not_said() -> None:
    """Nor is one that is known."""
    bound = steps(3, 1_000, _bound_by_the_gpu, Trace())
    assert forecast_of(msgspec.structs.replace(bound, kind="nsys")).doubts == ()
    assert HOST_BOUND.doubts == ()
