"""The Kineto reader against a plain reading of real recordings, and format by format."""

from __future__ import annotations

import gzip
import json
import math
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tailwave.model import DeviceInfo, GpuKind, HostKind, Thread, Timeline
from tailwave.recordings.readers import kineto
from tailwave.recordings.readers.json_stream import BLOCK_BYTES
from tests.places import ROOT
from tests.recordings.readers import naive_kineto as naive
from tests.recordings.readers.sample import (
    EVENTS,
    TINY,
    Event,
    complete,
    kernel,
    launch,
    on_gpu,
    trace,
    write,
)

SHIPPED = sorted((ROOT / "tests" / "data" / "traces").glob("*.json.gz"))
PUBLIC = Path(os.environ.get("TAILWAVE_PUBLIC_DATA", ROOT.parent / "shared" / "data" / "public"))


def read(path: Path, events: list[Event], block: int = BLOCK_BYTES) -> Timeline:
    """Write events as a trace and read it back."""
    return kineto.read_trace(write(path / "t.json", trace(events)), block_bytes=block)


def assert_as_naive(path: Path, block: int = BLOCK_BYTES) -> None:
    """Hold every column of a trace against the plain reading."""
    document = naive.load(path)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(document["traceEvents"])
    assert (timeline.recorded_from, timeline.recorded_to) == naive.window(document["traceEvents"])
    assert timeline.events == len(document["traceEvents"])
    assert timeline.notes == ()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_recording_is_read_as_a_plain_reading_does(path: Path) -> None:
    """Every value of every column is what the file says."""
    assert_as_naive(path)


@pytest.mark.parametrize("name", ["decode_small.eager", "h2d.pinned_overlap", "resnet50_b1.graph"])
def test_a_recording_is_read_in_many_blocks_as_in_one(name: str) -> None:
    """Every value of every column is what the file says, however the blocks fall."""
    assert_as_naive(SHIPPED[0].with_name(f"{name}.json.gz"), 4096)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_recording_names_its_device(path: Path) -> None:
    """The properties of the GPU are read from the file's head."""
    assert kineto.read_trace(path).devices == (
        DeviceInfo(
            index=0,
            name="NVIDIA H200",
            sm_count=132,
            compute_major=9,
            compute_minor=0,
            warp_size=32,
            max_threads_per_sm=2048,
            registers_per_sm=65536,
            shared_per_sm=233472,
            shared_per_block_optin=232448,
        ),
    )


@pytest.mark.parametrize("name", ["hta_control_a100.json.gz", "timesformer_h100.json.gz"])
def test_other_peoples_recordings_are_read_as_a_plain_reading_does(name: str) -> None:
    """Recordings of other machines and releases hold no surprise."""
    path = PUBLIC / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert_as_naive(path)


@pytest.mark.parametrize("block", [1, TINY, 200, 333, 1000, BLOCK_BYTES])
def test_the_size_of_a_block_does_not_matter(tmp_path: Path, block: int) -> None:
    """Blocks that cut events, keys and strings give what one block gives."""
    whole = read(tmp_path, EVENTS)
    cut = read(tmp_path, EVENTS, block)
    assert naive.rows_of(cut) == naive.rows_of(whole) == naive.rows(EVENTS)
    assert cut.threads == whole.threads
    assert cut.notes == ()


def test_a_thread_has_its_name(tmp_path: Path) -> None:
    """A thread_name event names the thread that it is shown on."""
    assert read(tmp_path, EVENTS).threads == (Thread("100", "7", "main"),)


def test_one_thread_written_as_number_and_as_text_is_one_thread(tmp_path: Path) -> None:
    """Process 1 and process "1" are the same."""
    events = [complete("cpu_op", "a", 1, 1) | {"pid": pid} for pid in (1, "1")]
    assert read(tmp_path, events).threads == (Thread("1", "7"),)


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
@pytest.mark.parametrize("last", [False, True])
def test_the_events_may_come_before_or_after_other_values(
    tmp_path: Path, block: int, *, last: bool
) -> None:
    """The order of the top-level keys does not matter; what is inside others is not mistaken."""
    others = {
        "decoy": {"traceEvents": [{"ph": "X"}], "text": '"traceEvents": ['},
        "deviceProperties": [{"id": 3, "name": "GPU", "numSms": "84", "warpSize": None}],
        "distributedInfo": {"rank": 5, "world_size": 8},
        "empty": [],
        "number": -1.5e3,
        "nothing": None,
    }
    events = {"traceEvents": EVENTS}
    path = write(tmp_path / "t.json", others | events if last else events | others)
    timeline = kineto.read_trace(path, block_bytes=block)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert (timeline.rank, timeline.world_size) == (5, 8)
    assert timeline.devices == (DeviceInfo(index=3, name="GPU", sm_count=84),)
    assert timeline.notes == ()


def test_the_root_may_be_the_list_of_events(tmp_path: Path) -> None:
    """A trace can be a list of events and nothing else."""
    timeline = kineto.read_trace(write(tmp_path / "t.json", EVENTS))
    assert naive.rows_of(timeline) == naive.rows(EVENTS)


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    """A compressed trace without the suffix is read, and a plain one with it."""
    data = json.dumps(trace(EVENTS)).encode()
    packed = kineto.read_trace(write(tmp_path / "t.json", gzip.compress(data)))
    plain = kineto.read_trace(write(tmp_path / "u.json.gz", data))
    assert naive.rows_of(packed) == naive.rows_of(plain) == naive.rows(EVENTS)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Editors of Windows put three bytes before the text."""
    path = write(tmp_path / "t.json", b"\xef\xbb\xbf" + json.dumps(trace(EVENTS)).encode())
    assert naive.rows_of(kineto.read_trace(path)) == naive.rows(EVENTS)


@pytest.mark.parametrize(
    ("ts", "nanoseconds"),
    [
        ("1661203462598738", 1661203462598738000),
        ("1661203462598738.125", 1661203462598738125),
        ("1661203462598738.001", 1661203462598738001),
        ("7213843205.937", 7213843205937),
        ("0.001", 1),
        ("-3.5", -3500),
        ('"12.5"', 12500),
        ('"1661203462598738.123"', 1661203462598738123),
    ],
)
def test_times_are_exact_to_the_nanosecond(tmp_path: Path, ts: str, nanoseconds: int) -> None:
    """Microseconds of any size, with decimals or without, as number or text, lose nothing."""
    text = json.dumps(trace([complete("cpu_op", "a", 1, 0.003)])).replace('"ts": 1', f'"ts": {ts}')
    timeline = kineto.read_trace(write(tmp_path / "t.json", text.encode()))
    assert timeline.host.start.tolist() == [nanoseconds]
    assert timeline.host.end.tolist() == [nanoseconds + 3]


def test_the_names_of_2021_are_known(tmp_path: Path) -> None:
    """Categories of the first releases, and of other spellings, are those of today."""
    cats = ["Operator", "Runtime", "Python", "USER_ANNOTATION", "xpu_runtime", "privateuse1_driver"]
    host = [complete(cat, cat, 1 + at, 1) for at, cat in enumerate(cats)]
    gpu = [on_gpu(cat, cat, 1 + at, 1) for at, cat in enumerate(["Kernel", "Memcpy", "Memset"])]
    timeline = read(tmp_path, host + gpu)
    runtime = HostKind.RUNTIME
    expected = [HostKind.OPERATOR, runtime, HostKind.PYTHON, HostKind.ANNOTATION, runtime, runtime]
    assert timeline.host.kind.tolist() == expected
    assert timeline.gpu.kind.tolist() == [GpuKind.KERNEL, GpuKind.MEMCPY, GpuKind.MEMSET]


def test_what_is_no_work_is_only_counted(tmp_path: Path) -> None:
    """Overhead, annotations seen from the GPU and unknown categories give no rows."""
    cats = ["overhead", "gpu_user_annotation", "fwdbwd", "mtia_insight"]
    events = [complete(cat, cat, 1, 1) for cat in cats]
    timeline = read(tmp_path, EVENTS + events)
    assert naive.rows_of(timeline) == naive.rows(EVENTS)
    assert timeline.events == len(EVENTS) + len(events)


def test_device_and_stream_come_from_the_row_where_arguments_lack_them(tmp_path: Path) -> None:
    """Old recorders name the device and the stream only by process and thread."""
    bare = complete("Kernel", "k", 1, 1) | {"pid": 2, "tid": "stream 13"}
    timeline = read(tmp_path, [bare])
    assert (timeline.gpu.device.tolist(), timeline.gpu.stream.tolist()) == ([2], [13])


def test_what_is_not_recorded_is_minus_one(tmp_path: Path) -> None:
    """A kernel without arguments has no figure that looks like one."""
    gpu = read(tmp_path, [complete("kernel", "k", 1, 1) | {"args": None}]).gpu
    unknown = ("correlation", "launch", "grid", "block", "registers", "shared", "bytes")
    assert [getattr(gpu, column).tolist() for column in unknown] == [[-1]] * len(unknown)


def test_a_graph_launch_has_many_kernels(tmp_path: Path) -> None:
    """The kernels of a CUDA graph share a launch, and keep their nodes."""
    kernels = [kernel(f"k{n}", 10 + n, 1, 4, **{"graph node id": n, "graph id": 1}) for n in (5, 6)]
    gpu = read(tmp_path, [launch(1, 2, 4, "cudaGraphLaunch"), *kernels]).gpu
    assert gpu.launch.tolist() == [0, 0]
    assert gpu.graph_node.tolist() == [5, 6]


@pytest.mark.parametrize("none", [-1, 4294967295, 18446744073709551615])
def test_a_wait_of_the_host_has_no_stream(tmp_path: Path, none: int) -> None:
    """Recorders write "no stream" in three ways."""
    wait = on_gpu("cuda_sync", "Context Sync", 1, 1, stream=none, wait_on_stream=none)
    waits = read(tmp_path, [*EVENTS, wait]).waits
    assert (waits.stream[0], waits.source_stream[0]) == (-1, -1)


def arrow(letter: str, cat: str, ident: int, at: Event) -> Event:
    """Make one end of an arrow, at the begin of an event."""
    return {"ph": letter, "cat": cat, "id": ident, "name": cat} | {
        key: at[key] for key in ("pid", "tid", "ts")
    }


@pytest.mark.parametrize("cat", ["ac2g", "async_cpu_to_gpu", "async"])
@pytest.mark.parametrize("name", ["hipLaunchKernel", "hipModuleLaunchKernel"])
def test_arrows_link_what_has_no_correlation(tmp_path: Path, cat: str, name: str) -> None:
    """On ROCm a kernel can be linked to its launch by an arrow only; its stream can be 0."""
    call = complete("cuda_runtime", name, 2.125, 3)
    work = on_gpu("kernel", "k", 9.5, 1, stream=0)
    other = complete("cuda_runtime", name, 1, 1)
    arrows = [arrow("s", cat, 8, call), arrow("f", cat, 8, work), arrow("s", "fwdbwd", 8, other)]
    gpu = read(tmp_path, [other, call, work, *arrows]).gpu
    assert (gpu.launch.tolist(), gpu.stream.tolist()) == ([1], [0])


def test_a_correlation_used_twice_means_the_call_before(tmp_path: Path) -> None:
    """Of several calls with one number, the last that began before the kernel launched it."""
    events = [launch(1, 1, 4), kernel("a", 3, 1, 4), launch(5, 1, 4), kernel("b", 7, 1, 4)]
    assert read(tmp_path, events).gpu.launch.tolist() == [0, 1]


def test_a_kernel_before_all_calls_of_its_number_takes_the_first(tmp_path: Path) -> None:
    """Clocks that disagree do not lose the link."""
    events = [kernel("a", 3, 1, 4), launch(5, 1, 4), launch(9, 1, 4)]
    assert read(tmp_path, events).gpu.launch.tolist() == [0]


def test_a_process_launches_on_its_own_device(tmp_path: Path) -> None:
    """Two processes count their calls alike; the kernel belongs to the one of its device."""
    mine = [launch(1, 1, 1), launch(3, 1, 2), kernel("a", 2, 1, 1), kernel("b", 10, 1, 2)]
    theirs = [launch(5, 1, 2) | {"pid": 200}, launch(6, 1, 3) | {"pid": 200}]
    other = [kernel("c", 11, 1, 2, device=1), kernel("d", 12, 1, 3, device=1)]
    timeline = read(tmp_path, mine + theirs + other)
    threads = [timeline.threads[code].pid for code in timeline.host.thread]
    assert [threads[row] for row in timeline.gpu.launch] == ["100", "100", "200", "200"]


@pytest.mark.parametrize("block", [TINY, BLOCK_BYTES])
def test_begin_and_end_make_one_event(tmp_path: Path, block: int) -> None:
    """Pairs nest within a thread; what has no partner is left out and counted."""
    outer, inner, alone = ({"ph": "B", "cat": "cpu_op", "pid": 1, "tid": 1} for _ in range(3))
    end = {"ph": "E", "pid": 1, "tid": 1}
    events = [
        outer | {"name": "outer", "ts": 1.5},
        inner | {"name": "inner", "ts": 2},
        end | {"ts": 3},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 4},
        end | {"ts": "5.25"},
        alone | {"name": "alone", "ts": 6},
    ]
    timeline = read(tmp_path, events, block)
    host = timeline.host
    assert [timeline.names[code] for code in host.name] == ["outer", "inner"]
    assert (host.start.tolist(), host.end.tolist()) == ([1500, 2000], [5250, 3000])
    assert timeline.notes == (
        "1 event left out: begin without an end.",
        "1 event left out: end without a begin.",
    )


def test_progress_goes_from_start_to_end(tmp_path: Path) -> None:
    """Progress is told in bytes of the file on disk, and reaches its size."""
    path = write(tmp_path / "t.json.gz", gzip.compress(json.dumps(trace(EVENTS)).encode()))
    told: list[tuple[int, int]] = []
    kineto.read_trace(path, lambda done, total: told.append((done, total)), block_bytes=TINY)
    assert told == sorted(told)
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Reading ten times the events takes room for their rows, never for their text."""
    step = [event | {"ts": 10} for event in EVENTS[1:-1]]
    path = tmp_path / "t.json"
    filler = " " * 1000
    with path.open("w") as file:
        file.write('{"skipped": [' + '{"a": "b"},' * 30_000 + '0], "traceEvents": [')
        for _ in range(600):
            file.write("".join(json.dumps(event) + filler + "," for event in step))
        file.write(json.dumps(EVENTS[-1]) + "]}")
    kineto.read_trace(write(tmp_path / "warm.json", trace(EVENTS)))
    tracemalloc.start()
    timeline = kineto.read_trace(path, block_bytes=1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(timeline.host) == 600 * len(naive.rows(EVENTS)["host"])
    assert peak < path.stat().st_size / 4


PLAIN = {"plain_step_us": 25_704.4, "plain_before_us": 25_000.0, "plain_after_us": 26_000.0}


@pytest.mark.parametrize("last", [False, True])
def test_the_measured_step_stands_under_one_key(tmp_path: Path, *, last: bool) -> None:
    """Where `tailwave.profile` put it, or somebody by `add_metadata_json`."""
    plain, events = {"tailwave": PLAIN}, {"traceEvents": EVENTS}
    path = write(tmp_path / "t.json", events | plain if last else plain | events)
    timeline = kineto.read_trace(path)
    assert (timeline.plain_step_us, timeline.notes) == (25_704.4, ())


NO_TIMES: list[object] = [0, -1.0, 1e300, "25", True, None, [], math.nan]


@pytest.mark.parametrize(
    "plain", [None, [], "x", {}, *({"plain_step_us": value} for value in NO_TIMES)]
)
def test_what_is_no_measured_step_is_none(tmp_path: Path, plain: object) -> None:
    """The key may be another tool's too."""
    timeline = kineto.read_trace(write(tmp_path / "t.json", {"tailwave": plain, **trace(EVENTS)}))
    assert timeline.plain_step_us == 0.0


DRIFT = (
    "Without the profiler a step took 25.00 ms before those recorded and 28.90 ms after them: the "
    "program's steps change as it runs."
)
UNSTEADY = "The steps were not steady, or not yet, when their recording began."


@pytest.mark.parametrize(
    ("plain", "note"), [({"plain_after_us": 28_900.0}, DRIFT), ({"steady": False}, UNSTEADY)]
)
def test_a_measured_step_that_may_be_another_is_noted(
    tmp_path: Path, plain: dict[str, Any], note: str
) -> None:
    """A drift by more than 5%, and steps that never were steady."""
    path = write(tmp_path / "t.json", {"tailwave": PLAIN | plain, **trace(EVENTS)})
    assert kineto.read_trace(path).notes == (note,)
