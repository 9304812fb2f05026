"""The reader of ONNX Runtime's profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailwave.errors import UnreadableInputError
from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tests.places import DATA
from tests.recordings.readers.sample import Event, write

PROFILES = DATA / "onnxruntime"


def event(cat: str, name: str, ts: int, dur: int, **args: str) -> Event:
    """Make an event of a profile: whole microseconds, arguments as text."""
    row = {"ph": "X", "pid": 9, "tid": 9, "cat": cat, "name": name, "ts": ts, "dur": dur}
    return row | {"args": args}


def read_events(path: Path, *events: Event) -> Timeline:
    """Write a run of a session with these events in it, and read it back."""
    run: list[Any] = [event("Session", "model_run", 10, 1000), *events]
    [timeline] = read(write(path / "profile.json", run))
    return timeline


def test_a_run_of_the_model_is_a_step() -> None:
    """Five runs of 47 nodes with a small kernel each are launch-bound."""
    timelines = read(PROFILES / "ort47.json.gz")
    diagnosis = diagnose(timelines, "ort47")
    assert diagnosis.steps is not None
    assert (diagnosis.steps.count, diagnosis.steps.by) == (5, "annotation model_run")
    assert (diagnosis.steps.median_us, diagnosis.steps.gpu_busy_us) == (16_040.0, 940.0)
    assert diagnosis.findings[0].code == "launch-bound"
    assert timelines[0].notes == ()


@pytest.mark.xfail(reason="the last run is cut to its last call: 110 us", strict=True)
def test_one_kernel_in_a_run_keeps_the_gpu_idle() -> None:
    """A kernel of 50 us in a run of 1,000 us is not all of it."""
    diagnosis = diagnose(read(PROFILES / "ort.json"), "ort")
    assert diagnosis.steps is not None
    assert (diagnosis.steps.median_us, diagnosis.steps.gpu_busy_us) == (1000.0, 50.0)
    assert diagnosis.findings[0].code == "launch-bound"


def test_a_node_launches_what_follows_it(tmp_path: Path) -> None:
    """Operators are called after the kind of node; each kernel leads to its own."""
    shape = {"stream": "7", "grid_x": "8", "grid_y": "2", "grid_z": "1", "block_x": "128"}
    timeline = read_events(
        tmp_path,
        event("Session", "SequentialExecutor::Execute", 11, 900),
        event("Node", "conv1_fence_before", 19, 1, op_name="Conv"),
        event("Node", "conv1_kernel_time", 20, 100, op_name="Conv"),
        event("Kernel", "implicit_gemm", 90, 50, **shape),
        event("Kernel", "bias", 140, 5, stream="7"),
        event("Node", "out_kernel_time", 130, 20),
        event("Kernel", "MemcpyDeviceToHost", 160, 9, stream="7", grid_x="-1", block_x="-1"),
    )
    host, gpu = timeline.host, timeline.gpu
    assert [timeline.names[code] for code in host.name] == ["model_run", "Conv", "out"]
    assert host.kind.tolist() == [HostKind.ANNOTATION, HostKind.OPERATOR, HostKind.OPERATOR]
    assert gpu.launch.tolist() == [1, 1, 2]
    assert gpu.kind.tolist() == [GpuKind.KERNEL, GpuKind.KERNEL, GpuKind.MEMCPY]
    assert gpu.grid.tolist() == [16, -1, -1]
    assert gpu.block.tolist() == [128, -1, -1]
    assert gpu.stream.tolist() == [7, 7, 7]
    assert (timeline.kind, timeline.devices) == ("onnxruntime", ())


def test_a_path_of_windows_loses_no_event(tmp_path: Path) -> None:
    r"""ONNX Runtime writes the names of files as they are: C:\models is no escape of JSON."""
    text = (PROFILES / "ort.json").read_text("utf-8").replace("Conv_0", r"C:\models\q")
    [timeline] = read(write(tmp_path / "p.json", text.encode()))
    assert (timeline.events, timeline.notes) == (3, ())


def test_a_profile_of_loading_alone_is_unreadable(tmp_path: Path) -> None:
    """A session that ran nothing has no step and no operator."""
    path = write(tmp_path / "p.json", [event("Session", "session_initialization", 1, 900)])
    with pytest.raises(UnreadableInputError, match="holds no usable event"):
        read(path)
