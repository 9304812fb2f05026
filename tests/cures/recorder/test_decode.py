"""From CUPTI's raw records to a Timeline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwave.cures.recorder.decode import decode
from tailwave.model import DeviceInfo, GpuKind, HostKind, Thread, Timeline
from tests.cures.recorder.records import SIZES, call, kernel, record, report


def gpu_names(timeline: Timeline) -> list[str]:
    """Return the names of the GPU's rows."""
    return [timeline.names[code] for code in timeline.gpu.name]


def test_a_kernel(tmp_path: Path) -> None:
    """Its shape, its resources, and the call that launched it."""
    raw = call(5, 1000, 1500, number=211, correlation=9) + kernel(2000, 2600, correlation=9)
    timeline = decode(report(tmp_path, raw, since=500, until=9000))
    gpu = timeline.gpu
    assert gpu_names(timeline) == ["gemm(float*)"]
    row = [int(getattr(gpu, field)[0]) for field in gpu.__struct_fields__ if field != "name"]
    assert row == [2000, 2600, GpuKind.KERNEL, 0, 7, 9, 0, 120, 32, 40, 1536, -1, -1]
    assert timeline.names[timeline.host.name[0]] == "cudaLaunchKernel"
    assert timeline.threads == (Thread("42", "77", "python3"),)
    assert (timeline.kind, timeline.events) == ("record", 2)
    assert (timeline.recorded_from, timeline.recorded_to) == (500, 9000)
    assert timeline.notes == ()


def test_the_drivers_calls_within_the_runtimes_are_left_out(tmp_path: Path) -> None:
    """They bear the same correlation; what the program called itself is kept."""
    raw = call(4, 1100, 1400, number=307) + call(5, 1000, 1500, number=211) + kernel(2000, 2600)
    raw += call(4, 3000, 3100, number=307, correlation=2) + kernel(4000, 4600, correlation=2)
    timeline = decode(report(tmp_path, raw))
    names = [timeline.names[code] for code in timeline.host.name]
    assert names == ["cudaLaunchKernel", "cuLaunchKernel"]
    assert timeline.gpu.launch.tolist() == [0, 1]


@pytest.mark.parametrize("size", [208, 216, 240, 288])
def test_records_of_other_versions(tmp_path: Path, size: int) -> None:
    """Later versions of CUPTI append fields, and move none."""
    raw = kernel(2000, 2600, size=size) + kernel(3000, 3600, size=size)
    timeline = decode(report(tmp_path, raw, sizes={10: size}))
    assert timeline.gpu.start.tolist() == [2000, 3000]
    assert timeline.gpu.grid.tolist() == [120, 120]


def test_copies_and_memsets(tmp_path: Path) -> None:
    """They are named as PyTorch's profiler names them."""
    when = ((16, "Q", 10), (24, "Q", 20), (40, "I", 7))
    size = (8, "Q", 1 << 33)
    copy = record(1, (4, "B", 1), (5, "B", 2), (6, "B", 3), size, *when, (44, "I", 5))
    peer = record(22, (4, "B", 10), (5, "B", 3), (6, "B", 3), size, *when, (60, "I", 6))
    clear = record(2, size, *when, (44, "I", 7), (50, "H", 3), (64, "Q", 8))
    timeline = decode(report(tmp_path, copy + peer + clear))
    assert gpu_names(timeline) == [
        "Memcpy HtoD (Pinned -> Device)",
        "Memcpy PtoP (Device -> Device)",
        "Memset (Device)",
    ]
    gpu = timeline.gpu
    assert gpu.kind.tolist() == [GpuKind.MEMCPY, GpuKind.MEMCPY, GpuKind.MEMSET]
    assert gpu.correlation.tolist() == [5, 6, 7]
    assert gpu.bytes.tolist() == [1 << 33] * 3
    assert gpu.graph_node.tolist() == [-1, -1, 8]


def test_nodes_of_a_graph(tmp_path: Path) -> None:
    """They have one launch, and a node each."""
    raw = call(5, 1000, 1500, number=211, correlation=3)
    raw += kernel(2000, 2100, correlation=3, node=1 << 33)
    raw += kernel(2200, 2300, correlation=3, node=(1 << 33) + 1)
    gpu = decode(report(tmp_path, raw)).gpu
    assert gpu.graph_node.tolist() == [1 << 33, (1 << 33) + 1]
    assert gpu.launch.tolist() == [0, 0]


def test_who_waits_for_what(tmp_path: Path) -> None:
    """The record of the event says which stream is waited for, and which call recorded it."""
    event = record(36, (4, "I", 21), (8, "I", 1), (12, "I", 7), (48, "Q", 5))
    wait = record(
        38,
        (4, "I", 2),
        (8, "Q", 100),
        (16, "Q", 110),
        (24, "I", 22),
        (28, "I", 1),
        (32, "I", 13),
        (40, "Q", 5),
    )
    host = record(38, (4, "I", 4), (8, "Q", 200), (16, "Q", 300), (28, "I", 2), (32, "i", -1))
    mine = record(
        38, (4, "I", 1), (8, "Q", 400), (16, "Q", 500), (28, "I", 1), (32, "i", -1), (40, "Q", 5)
    )
    drained = record(38, (4, "I", 3), (8, "Q", 600), (16, "Q", 700), (28, "I", 1), (32, "I", 9))
    raw = event + wait + host + mine + drained + kernel(2000, 2600, device=1)
    timeline = decode(report(tmp_path, raw))
    waits = timeline.waits
    assert [timeline.names[code] for code in waits.name] == [
        "Stream Wait Event",
        "Context Sync",
        "Event Sync",
        "Stream Sync",
    ]
    assert waits.stream.tolist() == [13, -1, -1, -1]
    assert waits.source_stream.tolist() == [7, -1, 7, 9]
    assert waits.record_correlation.tolist() == [21, -1, 21, -1]
    assert waits.device.tolist() == [1, 1, 1, 1]


def test_waits_of_an_older_cupti_have_no_source(tmp_path: Path) -> None:
    """Before 12.9 a wait does not say which recording of an event it is for."""
    event = record(36, (4, "I", 21), (12, "I", 7), size=24)
    wait = record(38, (4, "I", 2), (8, "Q", 100), (16, "Q", 110), (32, "I", 13), size=40)
    waits = decode(report(tmp_path, event + wait, sizes={36: 24, 38: 40})).waits
    assert (waits.stream[0], waits.source_stream[0], waits.record_correlation[0]) == (13, -1, -1)


def marker(flags: int, time: int, number: int, name: int = 0, domain: int = 0) -> bytes:
    """Return the begin (2) or the end (4) of an NVTX range of thread 77."""
    where = ((20, "I", 2), (24, "I", 42), (28, "I", 77))
    fields = ((4, "I", flags), (8, "Q", time), (16, "I", number), *where)
    return record(12, *fields, (40, "Q", name), (48, "Q", domain))


def test_ranges(tmp_path: Path) -> None:
    """The program's are annotations, a library's are operators."""
    texts = {0: "", 1: "epoch", 2: "ncclAllReduce", 3: "NCCL"}
    raw = marker(2, 100, 1, name=1) + marker(2, 110, 2, name=2, domain=3) + marker(4, 120, 2)
    raw += marker(4, 200, 1)
    raw += marker(2, 300, 4, name=1)  # it has not ended
    timeline = decode(report(tmp_path, raw, texts=texts))
    host = timeline.host
    rows = [
        (timeline.names[code], HostKind(kind), start, end)
        for code, kind, start, end in zip(
            host.name, host.kind.tolist(), host.start.tolist(), host.end.tolist(), strict=True
        )
    ]
    assert rows == [
        ("epoch", HostKind.ANNOTATION, 100, 200),
        ("ncclAllReduce", HostKind.OPERATOR, 110, 120),
    ]


def test_marks_of_steps(tmp_path: Path) -> None:
    """A step lasts from one mark to the next; what ends at the first mark is no step."""
    timeline = decode(
        report(tmp_path, kernel(2000, 2600), steps=((1000, 77), (3000, 77), (4500, 77)))
    )
    host = timeline.host
    assert [timeline.names[code] for code in host.name] == ["step 1", "step 2"]
    assert host.start.tolist() == [1000, 3000]
    assert host.end.tolist() == [3000, 4500]


def test_what_had_not_finished_is_left_out(tmp_path: Path) -> None:
    """CUPTI hands over work that still runs with an end of 0."""
    timeline = decode(report(tmp_path, kernel(2000, 2600) + kernel(3000, 0) + kernel(0, 0)))
    assert len(timeline.gpu) == 1
    assert timeline.notes == (
        "2 pieces of GPU work left out: not finished when the recording ended.",
    )


def test_a_record_cut_in_two_is_left_out(tmp_path: Path) -> None:
    """A process may be killed while it writes."""
    timeline = decode(
        report(tmp_path, kernel(2000, 2600) + kernel(3000, 3600)[:100], complete=False)
    )
    assert len(timeline.gpu) == 1
    assert timeline.notes == (
        "The program was killed: what it did last is not in the recording.",
        "The last 100 bytes of the recording could not be read.",
    )


def test_kinds_that_are_not_known_are_passed_over(tmp_path: Path) -> None:
    """Their size is told; nothing else is needed of them."""
    other = record(99, size=32)
    timeline = decode(report(tmp_path, other + kernel(2000, 2600), sizes={**SIZES, 99: 32}))
    assert len(timeline.gpu) == 1


def test_a_kernel_without_a_name_has_its_address(tmp_path: Path) -> None:
    """Of a process that was killed the last names are not known."""
    timeline = decode(report(tmp_path, kernel(2000, 2600, name=0xABC), complete=False))
    assert gpu_names(timeline) == ["kernel at 0xabc"]


def test_nothing_on_the_gpu(tmp_path: Path) -> None:
    """There is a timeline, and a note."""
    timeline = decode(report(tmp_path, call(5, 10, 20, number=211), dropped=3, error="disk full"))
    assert len(timeline.gpu) == 0
    assert timeline.notes == (
        "CUPTI dropped 3 records for want of memory.",
        "The recording is not whole: disk full.",
        "Nothing of what the process did reached a GPU.",
    )


def test_the_gpus(tmp_path: Path) -> None:
    """Their properties are those that the driver told."""
    gpus = ({"index": 0, "name": "NVIDIA H200", "sm_count": 132, "odd": 1},)
    timeline = decode(report(tmp_path, kernel(2000, 2600), gpus=gpus, rank="3", world_size="x"))
    assert timeline.devices == (DeviceInfo(index=0, name="NVIDIA H200", sm_count=132),)
    assert (timeline.rank, timeline.world_size) == (3, 1)
