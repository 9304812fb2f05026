"""Timelines as Chrome traces: what viewers and tailwave itself read in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.readers import read
from tailwave.reports.chrome import to_chrome
from tests.builders import PINNED_HTOD, Trace, copy, kernel, memset

Events: TypeAlias = list[dict[str, Any]]

TIMELINE = (
    Trace()
    .step(0, 100)
    .op("aten::mm", 5, 20)
    .frame("model.py(1): forward", 4, 21)
    .launch(10, 14.001, kernel("gemm", 19.5, 30.25, grid=264, block=128, shared=4_096))
    .launch(30, 33, copy(PINNED_HTOD, 40, 50, stream=8, size=1_024), call="cudaMemcpyAsync")
    .thread("backward")
    .launch(60, 63, memset(64, 65))
    .unlaunched(kernel("other", 70, 80, device=1))
    .build()
)


def _document(timeline: Timeline = TIMELINE) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_chrome(timeline))
    return document


def _events(wanted: Callable[[dict[str, Any]], bool]) -> Events:
    return [event for event in _document()["traceEvents"] if wanted(event)]


def _of(category: str) -> Events:
    return _events(lambda event: event.get("cat") == category)


def test_every_row_is_an_event_of_its_kind() -> None:
    """Each row of both tables is one complete event, under the recorder's category."""
    complete = _events(lambda event: event["ph"] == "X")
    assert sorted(event["cat"] for event in complete) == [
        "cpu_op",
        "cuda_runtime",
        "cuda_runtime",
        "cuda_runtime",
        "gpu_memcpy",
        "gpu_memset",
        "kernel",
        "kernel",
        "python_function",
        "user_annotation",
    ]


def test_a_kernel_event_has_its_launch_and_shape() -> None:
    """Times are microseconds; grid, block, registers and shared memory are the kernel's own."""
    (event,) = [event for event in _of("kernel") if event["name"] == "gemm"]
    assert (event["ts"], event["dur"]) == (19.5, 10.75)
    assert (event["pid"], event["tid"]) == (0, 7)
    assert event["args"] == {
        "device": 0,
        "stream": 7,
        "correlation": 1,
        "registers per thread": 32,
        "shared memory": 4_096,
        "grid": [264, 1, 1],
        "block": [128, 1, 1],
    }


def test_what_is_unknown_is_left_out() -> None:
    """A copy has no grid, a kernel without a recorded launch no correlation: neither is written."""
    (moved,) = _of("gpu_memcpy")
    assert moved["args"] == {"device": 0, "stream": 8, "correlation": 2, "bytes": 1_024}
    (orphan,) = [event for event in _of("kernel") if event["name"] == "other"]
    assert "correlation" not in orphan["args"]


def test_arrows_lead_from_each_call_to_its_work() -> None:
    """A viewer draws one arrow for each launch, from the call's start to the work's."""
    arrows = _of("ac2g")
    begun = {event["id"]: event["ts"] for event in arrows if event["ph"] == "s"}
    ended = {event["id"]: event["ts"] for event in arrows if event["ph"] == "f"}
    assert begun == {1: 10.0, 2: 30.0, 3: 60.0}
    assert ended == {1: 19.5, 2: 40.0, 3: 64.0}


def test_rows_of_the_viewer_are_named() -> None:
    """GPUs, streams and threads have names, so that a viewer shows them by these."""
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in _events(lambda event: event["ph"] == "M")
        if event["name"] == "thread_name"
    }
    assert names == {
        (0, 7): "stream 7",
        (0, 8): "stream 8",
        (1, 7): "stream 7",
        (1, "main"): "thread main",
        (1, "backward"): "thread backward",
    }


def test_the_gpus_properties_are_written() -> None:
    """SM count, registers and shared memory go with the trace, for waves to be computed."""
    (device,) = _document()["deviceProperties"]
    assert (device["name"], device["numSms"]) == ("NVIDIA H200", 132)
    assert device["regsPerMultiprocessor"] == 65_536


@pytest.fixture(name="again")
def read_again(tmp_path: Path) -> Timeline:
    """Write the timeline and read it."""
    path = tmp_path / "trace.json"
    path.write_bytes(to_chrome(TIMELINE))
    return read(path)[0]


def test_tailwave_reads_back_what_it_wrote(again: Timeline) -> None:
    """Both tables come back, within the nanosecond to which a time is rounded."""
    for column in TIMELINE.gpu.__struct_fields__:
        if column not in {"name", "launch"}:
            before, after = getattr(TIMELINE.gpu, column), getattr(again.gpu, column)
            assert np.abs(after.astype(np.int64) - before).max() <= 1, column
    assert np.abs(again.host.start - TIMELINE.host.start).max() <= 1
    assert np.abs(again.host.end - TIMELINE.host.end).max() <= 1
    assert again.devices == TIMELINE.devices


def test_names_and_launches_come_back(again: Timeline) -> None:
    """Each GPU row has its name, and the call that launched it, as before."""
    for timeline in (TIMELINE, again):
        names = [timeline.names[code] for code in timeline.gpu.name]
        assert names == ["gemm", PINNED_HTOD, "Memset (Device)", "other"]
        calls = [timeline.names[timeline.host.name[row]] for row in timeline.gpu.launch[:3]]
        assert calls == ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaLaunchKernel"]
        assert timeline.gpu.launch[3] == -1
