"""A predicted run is a Timeline like any other: tailwave reads it back and finds the same steps."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.replay.change import Change
from tailwave.recordings.replay.copy_changes import async_copy
from tailwave.recordings.replay.engine import Run, run
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.host_changes import cuda_graph, host_speed, no_sync
from tailwave.recordings.replay.predicted import predicted_timeline
from tailwave.reports.chrome import to_chrome
from tests.builders import PAGEABLE_HTOD, PINNED_DTOH, Trace, copy, kernel, steps
from tests.places import TRACES
from tests.recordings.replay.programs import case_of, forecast_of

WAIT = "cudaStreamSynchronize"
RECORDING = TRACES / "syncs.item_each_layer.json.gz"


def _body(trace: Trace) -> None:
    trace.op("aten::mm", 2, 16).launch(10, 14, kernel("gemm", 19, 29, grid=40))
    trace.op("aten::item", 20, 60)
    trace.launch(24, 30, copy(PINNED_DTOH, 31, 33, size=4), call="cudaMemcpyAsync")
    trace.call(WAIT, 31, 40)
    trace.launch(70, 74, kernel("norm", 79, 85, stream=8))


CAST = forecast_of(steps(3, 100, _body, Trace()))


def _predicted(cast: Forecast, *changes: Change) -> tuple[Timeline, Run]:
    program, _ = cast.changed(*changes)
    result = run(program)
    return predicted_timeline(cast, program, result), result


def _read_back(timeline: Timeline, folder: Path) -> Timeline:
    path = folder / "predicted.json"
    path.write_bytes(to_chrome(timeline))
    return read(path)[0]


def test_an_unchanged_run_is_the_recording_without_operators() -> None:
    """Run as recorded, the GPU's table comes back as it was; of the host remain calls and steps."""
    recorded = msgspec.structs.replace(CAST, likely=CAST.recorded)
    timeline, _ = _predicted(recorded)
    original = CAST.case.timeline
    for column in original.gpu.__struct_fields__:
        if column != "launch":
            found = getattr(timeline.gpu, column).tolist()
            assert found == getattr(original.gpu, column).tolist(), column
    kept = np.isin(original.host.kind, (HostKind.RUNTIME, HostKind.ANNOTATION))
    assert sorted(timeline.host.start.tolist()) == sorted(original.host.start[kept].tolist())
    assert timeline.threads == original.threads
    steps_of = timeline.host.kind == HostKind.ANNOTATION
    assert timeline.host.correlation[steps_of].tolist() == [-1, -1, -1]
    assert (timeline.recorded_from, timeline.recorded_to) == (0, 285_000)


def test_a_prediction_lasts_until_the_gpu_is_done() -> None:
    """Where the host does not wait for the last kernel, that is later than the last step's end."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("gemm", 60, 160))

    cast = forecast_of(steps(3, 100, body, Trace()))
    timeline, _ = _predicted(msgspec.structs.replace(cast, likely=cast.recorded))
    assert (timeline.recorded_from, timeline.recorded_to) == (0, 360_000)
    # Each launch begins with its step, which encloses it and so comes first.
    kinds = [HostKind(kind) for kind in timeline.host.kind]
    assert kinds == [HostKind.ANNOTATION, HostKind.RUNTIME] * 3


def test_calls_without_length_still_launch() -> None:
    """A call that takes no time issues its work, and waits, nonetheless."""
    likely = msgspec.structs.replace(CAST.likely, hold=np.zeros_like(CAST.likely.hold))
    timeline, _ = _predicted(msgspec.structs.replace(CAST, likely=likely))
    assert (timeline.host.kind == HostKind.RUNTIME).sum() == 3 * 4
    launches = timeline.host.correlation[timeline.gpu.launch]
    assert (timeline.gpu.launch >= 0).all()
    assert launches.tolist() == timeline.gpu.correlation.tolist()


def test_rows_know_the_call_that_launches_them() -> None:
    """Each row's launch is the host row of its own call, wherever that has moved."""
    timeline, _ = _predicted(CAST)
    launches = timeline.host.correlation[timeline.gpu.launch]
    assert launches.tolist() == timeline.gpu.correlation.tolist()
    assert (timeline.host.start[timeline.gpu.launch] <= timeline.gpu.start).all()


def test_tables_are_sorted() -> None:
    """Rows of both tables are in the order of their starts, the enclosing host row first."""
    timeline, _ = _predicted(CAST, no_sync, cuda_graph)
    assert (np.diff(timeline.gpu.start) >= 0).all()
    assert (np.diff(timeline.host.start) >= 0).all()
    assert timeline.host.kind[0] == HostKind.ANNOTATION


def test_calls_that_a_graph_has_taken_over_are_gone() -> None:
    """As one graph a step has a single call, and all its rows are that call's."""
    timeline, _ = _predicted(CAST, no_sync, cuda_graph)
    assert (timeline.host.kind == HostKind.RUNTIME).sum() == 3
    assert len(np.unique(timeline.gpu.launch)) == 3
    assert len(timeline.gpu) == 6


def test_streams_that_a_change_added_have_numbers_of_their_own(tmp_path: Path) -> None:
    """Copies that run beside the kernels are on another row of a viewer, and read back there."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 20, 800, size=5_500_000)
        trace.launch(10, 810, moved, call="cudaMemcpyAsync")
        trace.launch(820, 824, kernel("gemm", 829, 1_229))
        trace.launch(830, 834, kernel("norm", 839, 1_229, stream=9))

    timeline, result = _predicted(forecast_of(steps(3, 1_300, body, Trace())), async_copy)
    copies = timeline.gpu.kind == GpuKind.MEMCPY
    assert set(timeline.gpu.stream[copies].tolist()) == {10}
    assert set(timeline.gpu.stream[~copies].tolist()) == {7, 9}
    again = case_of(_read_back(timeline, tmp_path))
    assert again.steps.duration.tolist() == pytest.approx(result.step.tolist(), abs=2)


def test_it_says_that_it_is_a_prediction() -> None:
    """Nobody should take it for a recording."""
    assert _predicted(CAST)[0].notes == ("Predicted by tailwave; not a recording.",)


CHANGES: dict[str, tuple[Change, ...]] = {
    "unchanged": (),
    "no-sync": (no_sync,),
    "graph": (cuda_graph,),
    "both": (no_sync, cuda_graph),
    "fast": (host_speed(3.0),),
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("source", ["by hand", "recorded"])
def test_a_prediction_reads_back_with_the_same_steps(
    changes: tuple[Change, ...], source: str, tmp_path: Path
) -> None:
    """Written as a Chrome trace and read again, every step is as long to the nanosecond.

    A time in a trace has three decimals of a microsecond, so reading may round each end by one.
    """
    cast = CAST if source == "by hand" else forecast_of(read(RECORDING)[0])
    timeline, result = _predicted(cast, *changes)
    again = case_of(_read_back(timeline, tmp_path))
    assert again.steps.by == "ProfilerStep"
    assert again.steps.duration.tolist() == pytest.approx(result.step.tolist(), abs=2)


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_prediction_replays_to_itself(changes: tuple[Change, ...], tmp_path: Path) -> None:
    """What was predicted is as good an input for what-ifs as what was recorded."""
    timeline, _ = _predicted(forecast_of(read(RECORDING)[0]), *changes)
    assert forecast_of(_read_back(timeline, tmp_path)).identity_error <= 1e-4


def test_a_recording_of_the_gpu_alone_can_be_written_and_read(tmp_path: Path) -> None:
    """Without a host thread the predicted steps get one of their own."""
    cast = forecast_of(Trace().unlaunched(kernel("a", 5, 25), kernel("b", 30, 40)).build())
    timeline, _ = _predicted(cast)
    again = _read_back(timeline, tmp_path)
    assert again.gpu.start.tolist() == [5_000, 30_000]
    assert [thread.name for thread in again.threads] == ["steps"]
