"""Exports of nsys from 2019 to 2026: columns and tables come and go, the recording is the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tailwave.model import DeviceInfo, GpuKind, HostKind, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.timeline.steps import find_steps
from tests.recordings.readers.nsys.export import (
    EVENT,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    RUNTIME,
    STRINGS,
    SYNC,
    Row,
    Tables,
    call,
    kernel,
    on_gpu,
    small,
    string,
    thread,
    write,
)

H200 = DeviceInfo(0, "NVIDIA H200", 132, 9, 0, 32, 2_048, 65_536, 233_472, 232_448)


def _one(path: Path) -> Timeline:
    [timeline] = read(path)
    return timeline


def _of(tables: Tables, tmp_path: Path, version: str = "3.25.0") -> Timeline:
    return _one(write(tmp_path / "r.sqlite", tables, version))


def _waiting() -> Tables:
    """Return a recording with a stream that waits for an event of another, recorded twice."""
    tables = small()
    tables[RUNTIME] += [
        call("cudaEventRecord_v3020", 100, 110, 20),
        call("cudaEventRecord_v3020", 120, 130, 21),
        call("cudaStreamWaitEvent_v3020", 140, 150, 22),
        call("cudaEventRecord_v3020", 160, 170, 23),
    ]
    event = {"globalPid": thread(100, 0), "deviceId": 0, "contextId": 1, "eventId": 9}
    tables[EVENT] = [
        {**event, "streamId": stream, "correlationId": record, "eventSyncId": record + 50}
        for record, stream in ((20, 13), (21, 14), (23, 15))
    ]
    wait = {**on_gpu(141, 149, 22), "contextId": 1, "eventId": 9, "eventSyncId": 71}
    for row in tables[SYNC]:
        row["contextId"] = 1
    tables[SYNC].append({**wait, "deprecatedSyncType": None, "syncType": 2})
    return tables


def _without(tables: Tables, *columns: str) -> Tables:
    return {
        table: [{k: v for k, v in row.items() if k not in columns} for row in rows]
        for table, rows in tables.items()
    }


def _never_null(tables: Tables) -> Tables:
    """Write 0 for what is not there, as nsys did while all columns were NOT NULL."""
    return {
        table: [{k: 0 if v is None else v for k, v in row.items()} for row in rows]
        for table, rows in tables.items()
    }


def _in_2019(tables: Tables) -> Tables:
    old = _never_null(_without(tables, "globalPid", "graphNodeId", "eventSyncId"))
    old["TARGET_INFO_CUDA_GPU"] = [
        {
            "deviceId": 0,
            "name": "NVIDIA H200",
            "numMultiprocessors": 132,
            "computeCapabilityMajor": 9,
            "computeCapabilityMinor": 0,
            "numThreadsPerWarp": 32,
            "maxWarpsPerMultiprocessor": 64,
        }
    ]
    del old["TARGET_INFO_GPU"], old["TARGET_INFO_CUDA_DEVICE"]
    return old


def _in_2021(tables: Tables) -> Tables:
    return _never_null(_without(tables, "eventSyncId", "deprecatedSyncType"))


def _in_2022(tables: Tables) -> Tables:
    kinds = ("Pageable", "Pinned", "Device")
    listed: list[Row] = [{"id": i, "label": kind} for i, kind in enumerate(kinds)]
    old = _without(tables, "eventSyncId", "deprecatedSyncType")
    return {**old, "ENUM_CUDA_MEM_KIND": listed}


def _in_2024(tables: Tables) -> Tables:
    new = _in_2022(tables)
    for table in (KERNEL, MEMCPY, SYNC, EVENT):
        for row in new[table]:
            row["greenContextId"] = None
    return new


def _in_2025(tables: Tables) -> Tables:
    """Rows come in any order since 2025.6, and an old report's synchronisations by an old name."""
    new = {table: rows[::-1] for table, rows in tables.items()}
    for row in new[SYNC]:
        row["deprecatedSyncType"], row["syncType"] = row["syncType"], 0
    return new


YEARS: dict[str, tuple[Callable[[Tables], Tables], str]] = {
    "2019": (_in_2019, ""),
    "2021": (_in_2021, "2.7.1"),
    "2022": (_in_2022, "3.0.1"),
    "2023": (_in_2022, "3.11.0"),
    "2024": (_in_2024, "3.14.3"),
    "2025": (_in_2025, "3.24.2"),
    "2026": (lambda tables: tables, "3.25.0"),
}


@pytest.mark.parametrize("year", YEARS)
def test_each_years_export_gives_the_same_timeline(tmp_path: Path, year: str) -> None:
    """Work, calls, waits with the record that they wait for, and the GPU."""
    made, version = YEARS[year]
    timeline = _of(made(_waiting()), tmp_path, version)
    gpu, host, waits = timeline.gpu, timeline.host, timeline.waits
    assert gpu.start.tolist() == [3_000, 6_000]
    assert (gpu.grid[0], gpu.block[0], gpu.registers[0], gpu.shared[0]) == (6, 64, 16, 1_024)
    assert [timeline.names[host.name[row]] for row in gpu.launch] == [
        "cudaLaunchKernel",
        "cudaMemcpyAsync",
    ]
    assert timeline.names[gpu.name[1]] == "Memcpy HtoD (Pageable -> Device)"
    assert gpu.graph_node.tolist() == [-1, -1]
    assert [timeline.names[code] for code in waits.name] == ["Stream Wait Event", "Stream Sync"]
    assert waits.stream.tolist() == [7, -1]
    assert waits.source_stream.tolist() == [14, 7]
    assert waits.record_correlation.tolist() == [21, -1]
    [device] = timeline.devices
    assert (device.name, device.sm_count, device.compute_major) == ("NVIDIA H200", 132, 9)
    assert device.max_threads_per_sm == 2_048
    assert year == "2019" or device == H200
    assert [one.pid for one in timeline.threads] == ["100"]
    assert timeline.notes == ()


def test_an_event_recorded_after_the_wait_is_not_waited_for(tmp_path: Path) -> None:
    """Without a name of its own, a record counts only if its call came before the wait."""
    tables = _without(_waiting(), "eventSyncId")
    tables[EVENT] = [row for row in tables[EVENT] if row["correlationId"] == 23]
    assert _of(tables, tmp_path).waits.source_stream.tolist() == [-1, 7]


def test_events_of_two_contexts_are_two(tmp_path: Path) -> None:
    """An event's id is its context's own."""
    tables = _without(_waiting(), "eventSyncId")
    tables[EVENT][1]["contextId"] = 2
    assert _of(tables, tmp_path).waits.source_stream.tolist() == [13, 7]


def test_what_cupti_writes_for_no_stream_is_none(tmp_path: Path) -> None:
    """The host waits for an event whose record was not recorded: no stream is known."""
    tables = small()
    tables[SYNC] = [
        {**on_gpu(1, 2, 5), "streamId": 4_294_967_295, "syncType": 1, "eventId": 9},
    ]
    waits = _of(tables, tmp_path).waits
    assert (waits.stream.tolist(), waits.source_stream.tolist()) == ([-1], [-1])


def test_without_process_ids_work_belongs_to_the_process_that_launched_it(tmp_path: Path) -> None:
    """Where two processes used one correlation, it cannot be told: such work is a rank without."""
    tables: Tables = {
        RUNTIME: [
            call("cudaLaunchKernel_v7000", 10, 20, 1, process=100),
            call("cudaLaunchKernel_v7000", 11, 21, 2, process=200),
            call("cudaLaunchKernel_v7000", 12, 22, 3, process=100),
            call("cudaLaunchKernel_v7000", 13, 23, 3, process=200),
        ],
        KERNEL: [kernel(30, 40, 1), kernel(50, 60, 2), kernel(70, 80, 3)],
    }
    for row in tables[KERNEL]:
        row["globalPid"] = None
    timelines = read(write(tmp_path / "r.sqlite", tables))
    assert [t.gpu.start.tolist() for t in timelines] == [[70], [30], [50]]
    assert [(t.gpu.launch >= 0).tolist() for t in timelines] == [[False], [True], [True]]


def test_processes_of_two_machines_are_two(tmp_path: Path) -> None:
    """The same process id on another machine (hardware and VM bits) is another process."""
    far = 200 << 56 | 3 << 48
    tables = small()
    twin = kernel(13_000, 15_000, 1)
    twin["globalPid"] = (far | 100 << 24) - (1 << 64)
    tables[KERNEL].append(twin)
    launch = call("cudaLaunchKernel_v7000", 11_000, 11_400, 1)
    launch["globalTid"] = (far | 100 << 24 | 7) - (1 << 64)
    tables[RUNTIME].append(launch)
    first, second = read(write(tmp_path / "r.sqlite", tables))
    assert (first.gpu.start.tolist(), second.gpu.start.tolist()) == ([3_000, 6_000], [13_000])
    assert second.threads[0].pid == "100"
    assert second.gpu.launch.tolist() == [0]


def test_two_processes_share_a_gpu_that_each_numbers_for_itself(tmp_path: Path) -> None:
    """A process that sees one of two GPUs calls it 0, whichever it is; forks count as processes."""
    tables = small()
    tables["TARGET_INFO_GPU"].append({**tables["TARGET_INFO_GPU"][0], "id": 5, "name": "other"})
    tables["TARGET_INFO_CUDA_DEVICE"] = [
        {"gpuId": 4, "cudaId": 0, "pid": 100, "numMultiprocessors": 132},
        {"gpuId": 5, "cudaId": 1, "pid": 100, "numMultiprocessors": 132},
        {"gpuId": 5, "cudaId": 0, "pid": 101, "numMultiprocessors": 132},
        {"gpuId": 4, "cudaId": 0, "pid": 102, "numMultiprocessors": 132},
    ]
    tables[KERNEL].append(kernel(3_100, 3_200, 1, process=101))
    first, second = read(write(tmp_path / "r.sqlite", tables))
    assert [[d.name for d in t.devices] for t in (first, second)] == [
        ["NVIDIA H200", "other"],
        ["other"],
    ]


def test_a_graph_whose_nodes_are_there_too_is_not_counted_twice(tmp_path: Path) -> None:
    """Rows of the whole graph and of its nodes with one launch: the nodes say more."""
    tables = small()
    tables[RUNTIME] = [
        call("cudaGraphLaunch_v10000", 1_000, 1_100, 1),
        call("cudaGraphLaunch_v10000", 5_000, 5_100, 9),
    ]
    tables[MEMCPY] = []
    tables[KERNEL] = [kernel(3_000, 4_000, 1, graphNodeId=5)]
    tables[GRAPH] = [
        {**on_gpu(2_900, 4_100, 1), "graphId": 12},
        {**on_gpu(5_900, 7_100, 9), "graphId": 12},
        {**on_gpu(2_900, 4_100, 1, process=101), "graphId": 12},
    ]
    first, second = read(write(tmp_path / "r.sqlite", tables))
    assert [first.names[code] for code in first.gpu.name] == ["gemm<float>(int)", "CUDA graph 12"]
    assert second.gpu.start.tolist() == [2_900]


def test_migrations_of_managed_memory_are_copies_that_nobody_launched(tmp_path: Path) -> None:
    """They are written beside the copies that were asked for, with a correlation of 0."""
    tables = small()
    moved = {**on_gpu(8_100, 8_200, 0), "bytes": 65_536, "copyKind": 11, "srcKind": 4, "dstKind": 4}
    tables[MEMCPY].append(moved)
    tables[RUNTIME].append(call("cudaGetDevice_v3020", 10, 20, 0))
    timeline = _of(tables, tmp_path)
    assert timeline.names[timeline.gpu.name[2]] == "Memcpy HtoD (managed)"
    assert (timeline.gpu.launch[2], timeline.gpu.bytes[2]) == (-1, 65_536)


def _range(start: int, end: int | None, text: str | None, **more: object) -> Row:
    return {
        "start": start,
        "end": end,
        "eventType": 59,
        "text": text,
        "textId": None,
        "globalTid": thread(100),
        "domainId": 0,
        **more,
    }


def _ranges(tmp_path: Path, *ranges: Row) -> list[tuple[str, HostKind]]:
    tables = small()
    tables[RUNTIME] = []
    tables["NVTX_EVENTS"] = list(ranges)
    timeline = _of(tables, tmp_path)
    host = timeline.host
    return [
        (timeline.names[code], HostKind(kind))
        for code, kind in zip(host.name, host.kind.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("domain", "kind"),
    [
        ("NCCL", HostKind.OPERATOR),
        ("cuDNN", HostKind.OPERATOR),
        ("NVTX", HostKind.ANNOTATION),
        ("my trainer", HostKind.ANNOTATION),
    ],
)
def test_a_domain_is_a_librarys_by_its_name(tmp_path: Path, domain: str, kind: HostKind) -> None:
    """The Python package nvtx uses a domain "NVTX"; programs make their own; NCCL is a library."""
    made = _range(5, None, domain, eventType=75, domainId=3)
    assert _ranges(tmp_path, made, _range(10, 20, "step", domainId=3)) == [("step", kind)]


def test_a_domain_is_its_processs_own(tmp_path: Path) -> None:
    """Domain 3 of another process says nothing; without a name a domain is a library's."""
    made = _range(5, None, "mine", eventType=75, domainId=3, globalTid=thread(101))
    found = _ranges(tmp_path, made, _range(10, 20, "step", domainId=3))
    assert found == [("step", HostKind.OPERATOR)]


def test_a_librarys_ranges_across_threads_are_left_out(tmp_path: Path) -> None:
    """Start/end ranges need not enclose each other as a library's calls do."""
    across = _range(10, 20, "request", eventType=60, endGlobalTid=thread(100, 8))
    assert _ranges(tmp_path, across) == [("request", HostKind.ANNOTATION)]
    (tmp_path / "r.sqlite").unlink()
    assert _ranges(tmp_path, {**across, "domainId": 1}) == []


def test_ranges_with_payloads_and_registered_strings_are_read(tmp_path: Path) -> None:
    """A payload is left alone; a text of its own comes before a registered one."""
    found = _ranges(
        tmp_path,
        _range(10, 20, None, textId=string("ncclAllReduce"), uint64Value=7, binaryData="00"),
        _range(30, 40, "said", textId=string("ncclAllReduce"), doubleValue=0.5),
        _range(50, 60, None, textId=999),
    )
    assert [name for name, _ in found] == ["ncclAllReduce", "said", "unnamed"]


@pytest.mark.parametrize("text", ["ProfilerStep#{}", "iter {}", "step"])
def test_ranges_are_steps(tmp_path: Path, text: str) -> None:
    """A range around each step divides the recording, on whichever thread the others are."""
    tables = small()
    tables[RUNTIME] = [call("cudaLaunchKernel_v7000", 100 * i, 100 * i + 5, i) for i in range(1, 5)]
    tables[KERNEL] = [kernel(100 * i + 10, 100 * i + 60, i) for i in range(1, 5)]
    tables[MEMCPY], tables[SYNC] = [], []
    tables["NVTX_EVENTS"] = [
        *(_range(100 * i - 5, 100 * i + 90, text.format(i)) for i in range(1, 5)),
        *(_range(100 * i - 8, 100 * i + 70, "load", globalTid=thread(100, 8)) for i in range(1, 3)),
    ]
    found = find_steps(_of(tables, tmp_path))
    assert len(found) == 4
    assert found.by.startswith(("ProfilerStep", "annotation " + text.replace("{}", "#")))


def test_numbers_written_as_text_or_reals_are_no_integers(tmp_path: Path) -> None:
    """One odd cell makes no other cell unknown."""
    tables = small()
    tables[KERNEL].append(kernel(9_000, 9_100, 1, gridX="many", registersPerThread=b"\xff"))
    gpu = _of(tables, tmp_path).gpu
    assert gpu.grid.tolist() == [6, -1, -1]
    assert gpu.registers.tolist() == [16, -1, -1]


def test_a_product_beyond_all_integers_is_unknown(tmp_path: Path) -> None:
    """A damaged grid does not stop the reading."""
    tables = small()
    tables[KERNEL].append(kernel(9_000, 9_100, 1, gridX=1 << 40, gridY=1 << 40, gridZ=1 << 40))
    assert _of(tables, tmp_path).gpu.grid.tolist() == [6, -1, -1]


def _as_view(database: sqlite3.Connection) -> None:
    database.execute(f"ALTER TABLE {KERNEL} RENAME TO kept")
    database.execute(f"CREATE VIEW {KERNEL} AS SELECT * FROM kept")  # noqa: S608 - ours


def _without_rowid(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE other (id INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID")
    database.execute("INSERT INTO other SELECT id, value FROM StringIds")
    database.execute("DROP TABLE StringIds")
    database.execute("ALTER TABLE other RENAME TO StringIds")


def _broken_view(database: sqlite3.Connection) -> None:
    database.execute("CREATE VIEW mine AS SELECT * FROM gone")


@pytest.mark.parametrize("change", [_as_view, _without_rowid, _broken_view])
def test_what_others_made_of_the_database_is_read(
    tmp_path: Path, change: Callable[[sqlite3.Connection], None]
) -> None:
    """Views in place of tables, tables without row ids, views of what is not there any more."""
    path = write(tmp_path / "r.sqlite", small())
    with closing(sqlite3.connect(path)) as database, database:
        change(database)
    timeline = _one(path)
    assert timeline.gpu.kind.tolist() == [GpuKind.KERNEL, GpuKind.MEMCPY]
    assert timeline.names[timeline.gpu.name[0]] == STRINGS[0]


def test_metrics_of_other_units_and_names(tmp_path: Path) -> None:
    """Old exports name no unit; what is counted in warps or bytes is no share of the GPU."""
    tables = small()
    tables["TARGET_INFO_GPU_METRICS"] = [
        {"typeId": 0x1000100000000, "metricId": 1, "metricName": "SM Active"},
        {"typeId": 0x1000100000000, "metricId": 2, "metricName": "DRAM Read Bandwidth [GB/s]"},
        {"typeId": 0x1000100000000, "metricId": 3, "metricName": "Tensor Active [Throughput %]"},
        {"typeId": 0x1000100000001, "metricId": 1, "metricName": "SM Active"},
    ]
    tables["GPU_METRICS"] = [
        {"timestamp": 1, "typeId": 0x1000100000000, "metricId": 1, "value": 40.0},
        {"timestamp": 2, "typeId": 0x1000100000000, "metricId": 1, "value": 61.0},
        {"timestamp": 2, "typeId": 0x1000100000000, "metricId": 2, "value": 9},
        {"timestamp": 2, "typeId": 0x1000100000001, "metricId": 1, "value": 7},
    ]
    assert _of(tables, tmp_path).notes == (
        "Sampled by nsys on GPU 0, mean of the whole recording: SM Active 50%.",
        "Sampled by nsys on GPU 1, mean of the whole recording: SM Active 7%.",
    )


def test_many_rows_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond one piece follow in order, also where a late cell is no integer."""
    monkeypatch.setattr("tailwave.recordings.readers.nsys.database._ROWS_AT_ONCE", 500)
    count = 1_200
    tables = small()
    tables[KERNEL] = [kernel(10 * i + 1, 10 * i + 9, 1) for i in range(count)]
    tables[KERNEL][-1]["registersPerThread"] = "none"
    tables[MEMCPY] = []
    gpu = _of(tables, tmp_path).gpu
    assert np.array_equal(gpu.start, 10 * np.arange(count) + 1)
    assert gpu.registers.tolist() == [16] * (count - 1) + [-1]


def test_memsets_of_statics(tmp_path: Path) -> None:
    """Without its own list, an export's kinds of memory are those of 2021."""
    tables = small()
    tables[MEMSET] = [{**on_gpu(8_100, 8_200, 4), "bytes": 64, "memKind": 5}]
    timeline = _of(tables, tmp_path)
    assert timeline.names[timeline.gpu.name[2]] == "Memset (Device Static)"


def test_in_a_recording_of_one_process_all_work_is_its(tmp_path: Path) -> None:
    """Work that names neither process nor call, on no stream of the program's, is not lost."""
    tables = small()
    tables[MEMCPY].append(
        {**on_gpu(8_100, 8_200, 0), "bytes": 9, "copyKind": 11, "streamId": 4_294_967_295}
    )
    for row in (*tables[KERNEL], *tables[MEMCPY], *tables[SYNC]):
        row["globalPid"] = None
    gpu = _of(tables, tmp_path).gpu
    assert (gpu.start.tolist(), gpu.stream.tolist()) == ([3_000, 6_000, 8_100], [7, 7, -1])
