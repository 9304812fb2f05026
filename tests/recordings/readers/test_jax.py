"""The reader of JAX's traces, on recordings of an H200 and event by event."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailwave.errors import UnreadableInputError
from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import jax, read
from tests.places import DATA
from tests.recordings.readers.sample import Event, write

RECORDED = DATA / "jax"


def named(kind: str, name: str, pid: int, tid: int = 0) -> Event:
    """Name a process or a thread."""
    return {"ph": "M", "name": f"{kind}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def event(name: str, ts: float, dur: float, pid: int = 701, tid: int = 3, **args: Any) -> Event:  # noqa: ANN401 - any JSON
    """Make an event as JAX does: without a category."""
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


ROWS = [
    named("process", "/device:GPU:1", 2),
    named("thread", "Stream #14(Compute)", 2, 14),
    named("thread", "XLA Ops", 2, 90),
    named("process", "/host:CPU", 701),
    named("thread", "python3", 701, 3),
]
DETAILS = "regs:106 static_shared:16 dynamic_shared:1024 grid:128,2,1 block:64,2,1 occ_pct:18.75"


def read_events(path: Path, events: list[Event]) -> Timeline:
    """Write events as JAX does, with an empty one at the end, and read them back."""
    document = {"displayTimeUnit": "ns", "traceEvents": [*ROWS, *events, {}]}
    [timeline] = read(write(path / "vm.trace.json", document))
    return timeline


@pytest.mark.parametrize(
    ("name", "kernels", "memsets", "first"),
    [
        ("train_small", 228, 0, "host-starved"),
        ("train_big", 172, 44, "host-sync"),
        ("starved", 228, 0, "host-starved"),
    ],
)
def test_a_recording_is_read(name: str, kernels: int, memsets: int, first: str) -> None:
    """Four steps, all GPU work, each row of it launched by the graph launch of its step."""
    timelines = read(RECORDED / f"{name}.trace.json.gz")
    gpu, host = timelines[0].gpu, timelines[0].host
    assert (gpu.kind == GpuKind.KERNEL).sum() == kernels
    assert (gpu.kind == GpuKind.MEMSET).sum() == memsets
    assert {timelines[0].names[code] for code in host.name[gpu.launch]} == {"cuGraphLaunch"}
    assert (gpu.graph_node > 0).all()
    assert timelines[0].notes == ()
    diagnosis = diagnose(timelines, name)
    assert diagnosis.steps is not None
    assert (diagnosis.steps.count, diagnosis.steps.by) == (4, "annotation train")
    assert diagnosis.findings[0].code == first


def test_a_kernel_has_its_shape(tmp_path: Path) -> None:
    """Grid, block, registers and shared memory are read out of one text."""
    timeline = read_events(
        tmp_path,
        [
            event("loop_fusion", 10, 4, correlation_id="7", device_id="0"),
            event("loop_fusion", 20, 5.5, 2, 14, correlation_id="7", kernel_details=DETAILS),
            event("other", 30, 5, 2, 14, correlation_id="8", kernel_details="regs:9"),
        ],
    )
    gpu = timeline.gpu
    assert (gpu.start.tolist(), gpu.end.tolist()) == ([20_000, 30_000], [25_500, 35_000])
    assert (gpu.grid.tolist(), gpu.block.tolist()) == ([256, -1], [128, -1])
    assert (gpu.registers.tolist(), gpu.shared.tolist()) == ([106, 9], [1040, -1])
    assert (gpu.device.tolist(), gpu.stream.tolist()) == ([1, 1], [14, 14])
    assert (gpu.launch.tolist(), gpu.graph_node.tolist()) == ([0, -1], [-1, -1])
    assert timeline.names[timeline.host.name[0]] == "cuLaunchKernel"
    assert timeline.devices == ()


@pytest.mark.parametrize(
    ("call", "details", "called", "name", "size"),
    [
        ("MemcpyH2D", "kind_src:pinned kind_dst:device size:4 dest:0 async:1",
         "cuMemcpyHtoDAsync", "Memcpy HtoD (Pinned -> Device)", 4),
        ("MemcpyD2H", "kind_src:device kind_dst:pageable size:64 dest:0 async:0",
         "cuMemcpyDtoH", "Memcpy DtoH (Device -> Pageable)", 64),
        ("MemcpyD2D", "kind_src:device kind_dst:device_static async:1",
         "cuMemcpyDtoDAsync", "Memcpy DtoD (Device -> Device Static)", -1),
    ],
)  # fmt: skip
def test_a_copy_is_spelled_as_everywhere(  # noqa: PLR0913 - a row of the table
    tmp_path: Path, call: str, details: str, called: str, name: str, size: int
) -> None:
    """Its direction and both memories are in its name, and its call is the driver's."""
    timeline = read_events(
        tmp_path,
        [
            event(call, 10, 4, correlation_id="7", memcpy_details=details),
            event(call, 20, 5, 2, 14, correlation_id="7", memcpy_details=details),
        ],
    )
    gpu = timeline.gpu
    assert (gpu.kind.tolist(), gpu.bytes.tolist(), gpu.launch.tolist()) == ([1], [size], [0])
    assert timeline.names[gpu.name[0]] == name
    assert timeline.names[timeline.host.name[0]] == called


@pytest.mark.parametrize(
    ("raw", "name", "kind"),
    [
        (event("train", 1, 9, step_num="3"), "train", HostKind.ANNOTATION),
        (event("PjitFunction(f)", 1, 9), "PjitFunction(f)", HostKind.OPERATOR),
        (event("$time sleep", 1, 9), "time sleep", HostKind.PYTHON),
        (event("cuGraphLaunch (CudaGraph:8)", 1, 9), "cuGraphLaunch", HostKind.RUNTIME),
        (event("$api.py:9 block_until_ready", 1, 9), "block_until_ready", HostKind.RUNTIME),
        (event("np.asarray(jax.Array)", 1, 9), "np.asarray(jax.Array)", HostKind.RUNTIME),
    ],
)
def test_what_the_host_did_is_told_apart(
    tmp_path: Path, raw: Event, name: str, kind: HostKind
) -> None:
    """Steps, operators, frames, calls of the driver, and waits that are none."""
    timeline = read_events(tmp_path, [raw])
    assert [timeline.names[code] for code in timeline.host.name] == [name]
    assert timeline.host.kind.tolist() == [kind]


def test_derived_lines_are_no_work(tmp_path: Path) -> None:
    """What XLA did is shown a second time by operation, which keeps no SM busy."""
    work = event("fusion", 20, 5, 2, 14, correlation_id="1", kernel_details=DETAILS)
    timeline = read_events(tmp_path, [work, work | {"tid": 90}])
    assert len(timeline.gpu) == 1
    assert len(timeline.host) == 0


def log_folder(folder: Path, *runs: str) -> Path:
    """Make the folder that was given to jax.profiler.trace, with a host's trace in each run."""
    for run in runs:
        home = folder / "plugins" / "profile" / run
        home.mkdir(parents=True)
        shutil.copy(RECORDED / "starved.trace.json.gz", home / "vm.trace.json.gz")
    return folder


def test_of_a_log_folder_the_newest_run_is_read(tmp_path: Path) -> None:
    """The folder that the program named is enough."""
    runs = ("2026_11_30_22_19_52", "2026_12_01_08_00_00", "2025_12_31_00_00_00")
    [timeline] = read(log_folder(tmp_path, *runs))
    assert Path(timeline.path).parent.name == "2026_12_01_08_00_00"


def test_the_copy_for_perfetto_is_no_second_rank(tmp_path: Path) -> None:
    """It is left out beside what it is a copy of, and read where it is alone."""
    home = log_folder(tmp_path, "run") / "plugins" / "profile" / "run"
    copy = home / "perfetto_trace.json.gz"
    shutil.copy(home / "vm.trace.json.gz", copy)
    [timeline] = read(home)
    assert timeline.notes == (
        f"A file was left out: {copy} is a copy of vm.trace.json.gz beside it: give that.",
    )
    (home / "vm.trace.json.gz").unlink()
    [alone] = read(copy)
    assert np.array_equal(alone.gpu.start, timeline.gpu.start)


def test_a_cut_recording_is_read_to_its_end(tmp_path: Path) -> None:
    """Half of a trace gives its first half, with a note."""
    text = gzip.decompress((RECORDED / "train_big.trace.json.gz").read_bytes())
    [timeline] = jax.read_timelines(write(tmp_path / "t.trace.json", text[: len(text) // 2]))
    assert 100 < timeline.events < 495
    assert timeline.notes[0].startswith("The file ends in mid-event")


def test_a_trace_of_names_alone_is_unreadable(tmp_path: Path) -> None:
    """A recording in which nothing ran is refused."""
    with pytest.raises(UnreadableInputError, match="holds no usable event"):
        read_events(tmp_path, [])
