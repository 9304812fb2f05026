"""What the SQLite export of nsys says, as timelines."""

from __future__ import annotations

import gzip
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tailwave.cli import run
from tailwave.errors import UNREADABLE, UnreadableInputError
from tailwave.model import DeviceInfo, GpuKind, HostKind, Thread, Timeline
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tests.places import ROOT
from tests.recordings.readers.nsys.export import (
    EVENT,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    RUNTIME,
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

PUBLIC = ROOT.parent / "shared" / "data" / "public" / "nsys_mfu_2gpu.sqlite"


def one(path: Path) -> Timeline:
    """Read a recording of one process."""
    [timeline] = read(path)
    return timeline


def of(tables: Tables, tmp_path: Path) -> Timeline:
    """Write tables as an export and read the one process in it."""
    return one(write(tmp_path / "r.sqlite", tables))


def names(timeline: Timeline) -> list[str]:
    """Return the names of the GPU rows."""
    return [timeline.names[code] for code in timeline.gpu.name]


def test_a_kernel_is_read_whole(tmp_path: Path) -> None:
    """Time, name, shape, registers, shared memory, stream, and the call that launched it."""
    timeline = of(small(), tmp_path)
    gpu, host = timeline.gpu, timeline.host
    assert names(timeline) == ["gemm<float>(int)", "Memcpy HtoD (Pageable -> Device)"]
    assert (gpu.start[0], gpu.end[0], gpu.kind[0]) == (3_000, 5_000, GpuKind.KERNEL)
    assert (gpu.grid[0], gpu.block[0], gpu.registers[0], gpu.shared[0]) == (6, 64, 16, 1_024)
    assert (gpu.stream[0], gpu.device[0], gpu.graph_node[0]) == (7, 0, -1)
    assert timeline.names[host.name[gpu.launch[0]]] == "cudaLaunchKernel"


def test_a_copy_is_read_whole(tmp_path: Path) -> None:
    """Bytes and the ends of the copy; what a copy has not is unknown."""
    gpu = of(small(), tmp_path).gpu
    assert (gpu.bytes[1], gpu.kind[1], gpu.grid[1], gpu.shared[1]) == (
        4_096,
        GpuKind.MEMCPY,
        -1,
        -1,
    )


def test_calls_and_ranges_are_host_rows_the_enclosing_first(tmp_path: Path) -> None:
    """NVTX ranges of the program are annotations; calls lose the version in their names."""
    timeline = of(small(), tmp_path)
    host = timeline.host
    assert [timeline.names[code] for code in host.name] == [
        "step 0",
        "cudaLaunchKernel",
        "cudaMemcpyAsync",
        "cudaStreamSynchronize",
    ]
    assert host.kind.tolist() == [HostKind.ANNOTATION, *[HostKind.RUNTIME] * 3]
    assert host.correlation.tolist() == [-1, 1, 2, 3]


def test_threads_and_gpus_are_described(tmp_path: Path) -> None:
    """A global id holds process and thread; the process's own number names the GPU."""
    timeline = of(small(), tmp_path)
    assert timeline.threads == (Thread("100", "7", "main thread"),)
    assert timeline.devices == (
        DeviceInfo(0, "NVIDIA H200", 132, 9, 0, 32, 2_048, 65_536, 233_472, 232_448),
    )
    assert (timeline.kind, timeline.rank, timeline.world_size) == ("nsys", 0, 1)


def test_without_a_numbering_a_gpu_has_the_drivers_number(tmp_path: Path) -> None:
    """An export without TARGET_INFO_CUDA_DEVICE still describes its GPU."""
    tables = small()
    del tables["TARGET_INFO_CUDA_DEVICE"]
    tables["TARGET_INFO_GPU"][0]["cuDevice"] = 0
    assert [d.name for d in of(tables, tmp_path).devices] == ["NVIDIA H200"]


@pytest.mark.parametrize(
    ("driver", "indices"),
    [((3, 0, 1, 2), [0, 1, 2, 3]), ((-1, 0), [0]), ((None, None), [4, 5])],
)
def test_gpus_are_numbered_as_the_driver_does(
    tmp_path: Path, driver: tuple[int | None, ...], indices: list[int]
) -> None:
    """0 is a number like others; a GPU that CUDA did not show has none; nsys has its own."""
    tables = small()
    del tables["TARGET_INFO_CUDA_DEVICE"]
    [gpu] = tables["TARGET_INFO_GPU"]
    tables["TARGET_INFO_GPU"] = [
        {**gpu, "id": 4 + row, "cuDevice": number} for row, number in enumerate(driver)
    ]
    assert [device.index for device in of(tables, tmp_path).devices] == indices


def test_page_faults_of_the_gpu_are_rows_and_those_of_the_host_a_note(tmp_path: Path) -> None:
    """A group of faults has a begin and an end; a fault of the host only a moment."""
    tables = small()
    fault = {"globalPid": thread(100, 0), "address": 1 << 40}
    tables["CUDA_UM_GPU_PAGE_FAULT_EVENTS"] = [
        {**fault, "start": 3_100, "end": 3_900, "deviceId": 0, "numberOfPageFaults": 12}
    ]
    tables["CUDA_UM_CPU_PAGE_FAULT_EVENTS"] = [{**fault, "start": 20 + at} for at in range(3)]
    timeline = of(tables, tmp_path)
    assert names(timeline)[1] == "GPU page faults (managed)"
    assert (timeline.gpu.start[1], timeline.gpu.end[1], timeline.gpu.bytes[1]) == (3_100, 3_900, -1)
    [note] = timeline.notes
    assert note.startswith("The host touched pages of managed memory that were elsewhere 3 times")


def _noted(severity: int, text: str, process: int = 100) -> Row:
    return {"severity": severity, "text": text, "globalPid": thread(process, 0)}


NOTED = (
    _noted(1, "Number of CUDA events collected: \t12."),
    _noted(1, "Number of CUPTI events produced: \t45, CUPTI buffers: 50."),
    _noted(2, "Not all  CUDA events\nmight have been collected."),
    _noted(2, "No OpenGL events collected. Does the process use OpenGL?"),
    _noted(3, "CUDA of another process", process=200),
)


def test_where_the_gpus_work_is_missing_nsys_is_quoted(tmp_path: Path) -> None:
    """Its counts, and its doubts about CUDA, of this process; then how to record it again."""
    tables = small()
    del tables[KERNEL], tables[MEMCPY]
    tables["DIAGNOSTIC_EVENT"] = [*NOTED]
    noted, advice = of(tables, tmp_path).notes
    assert noted == (
        "nsys itself noted: 45 CUPTI events produced, 12 CUDA events collected; "
        '"Not all CUDA events might have been collected.".'
    )
    assert "--trace=cuda" in advice


def test_an_export_without_cuda_quotes_nsys_too(tmp_path: Path) -> None:
    """The refusal ends with what nsys noted, of all processes."""
    path = write(tmp_path / "r.sqlite", {RUNTIME: [], "DIAGNOSTIC_EVENT": [*NOTED]})
    with pytest.raises(UnreadableInputError, match='"CUDA of another process"'):
        read(path)


def test_where_the_gpus_work_is_there_nsys_is_not_quoted(tmp_path: Path) -> None:
    """Its notes concern every recording, and say nothing of this one."""
    assert of({**small(), "DIAGNOSTIC_EVENT": [*NOTED]}, tmp_path).notes == ()


def test_a_host_wait_names_the_stream_waited_for(tmp_path: Path) -> None:
    """The host waits on a stream: it is the source, and no stream waits."""
    timeline = of(small(), tmp_path)
    waits = timeline.waits
    assert [timeline.names[code] for code in waits.name] == ["Stream Sync"]
    assert (waits.stream[0], waits.source_stream[0], waits.correlation[0]) == (-1, 7, 3)


def test_a_stream_wait_finds_its_event(tmp_path: Path) -> None:
    """The record of the event tells which stream is waited for, by which call."""
    tables = small()
    tables[SYNC] = [{**on_gpu(1, 2, 5), "syncType": 2, "eventId": 9, "eventSyncId": 77}]
    tables[EVENT] = [
        {"globalPid": thread(100, 0), "eventSyncId": 77, "streamId": 13, "correlationId": 4}
    ]
    waits = of(tables, tmp_path).waits
    assert (waits.stream[0], waits.source_stream[0], waits.record_correlation[0]) == (7, 13, 4)


def test_each_process_is_a_rank(tmp_path: Path) -> None:
    """Correlations of two processes do not mix, though they are the same numbers."""
    tables: Tables = {
        RUNTIME: [
            call("cudaLaunchKernel_v7000", 10, 20, 1, process=200),
            call("cudaLaunchKernel_v7000", 1_010, 1_020, 1, process=100),
        ],
        KERNEL: [kernel(30, 40, 1, process=200, device=1), kernel(1_030, 1_040, 1, process=100)],
    }
    first, second = read(write(tmp_path / "r.sqlite", tables))
    assert (first.rank, first.world_size, second.rank) == (0, 2, 1)
    assert (first.gpu.start.tolist(), second.gpu.start.tolist()) == ([1_030], [30])
    assert (first.gpu.launch.tolist(), second.gpu.launch.tolist()) == ([0], [0])
    assert second.gpu.device.tolist() == [1]
    assert [t.threads[0].pid for t in (first, second)] == ["100", "200"]


def test_several_gpus_of_one_process_stay_together(tmp_path: Path) -> None:
    """One process that drives two GPUs is one timeline of two devices."""
    tables = small()
    tables[KERNEL].append(kernel(3_100, 3_200, 1, device=1))
    assert sorted(set(of(tables, tmp_path).gpu.device.tolist())) == [0, 1]


def test_graph_nodes_keep_their_number(tmp_path: Path) -> None:
    """At node granularity, each kernel of a graph is a row with the graph launch's correlation."""
    tables = small()
    tables[RUNTIME] = [call("cudaGraphLaunch_v10000", 1_000, 1_100, 1)]
    tables[KERNEL] = [
        kernel(3_000, 4_000, 1, graphNodeId=5),
        kernel(4_000, 5_000, 1, graphNodeId=6),
    ]
    gpu = of(tables, tmp_path).gpu
    assert gpu.graph_node.tolist()[:2] == [5, 6]
    assert gpu.launch.tolist()[:2] == [1, 1]


def test_a_whole_graph_is_work(tmp_path: Path) -> None:
    """At graph granularity, the graph's time is a row of work, and a note says what is missing."""
    tables = small()
    tables[KERNEL] = []
    tables[RUNTIME][0] = call("cudaGraphLaunch_v10000", 1_000, 1_400, 1)
    tables[GRAPH] = [{**on_gpu(3_000, 5_000, 1), "graphId": 12}]
    timeline = of(tables, tmp_path)
    assert names(timeline)[0] == "CUDA graph 12"
    assert (timeline.gpu.kind[0], timeline.gpu.launch[0] >= 0) == (GpuKind.KERNEL, True)
    [note] = timeline.notes
    assert note == (
        "1 graph launch was recorded as a whole: the kernels in it are not known. Record with "
        "`--cuda-graph-trace=node` for kernels."
    )


def test_memsets_are_read(tmp_path: Path) -> None:
    """A memset has its memory in its name."""
    tables = small()
    tables[MEMSET] = [{**on_gpu(8_100, 8_200, 4), "bytes": 64, "memKind": 2}]
    timeline = of(tables, tmp_path)
    assert names(timeline)[2] == "Memset (Device)"
    assert (timeline.gpu.kind[2], timeline.gpu.bytes[2]) == (GpuKind.MEMSET, 64)


@pytest.mark.parametrize(
    ("more", "name", "kind"),
    [
        ({"text": "aten::mm, op_id = 17"}, "aten::mm", HostKind.OPERATOR),
        ({"text": "aten::mm, seq = 3, op_id = 17"}, "aten::mm", HostKind.OPERATOR),
        ({"text": None, "textId": string("ncclAllReduce"), "domainId": 1}, "ncclAllReduce", 0),
        ({"text": "my range"}, "my range", HostKind.ANNOTATION),
        ({"text": "opened elsewhere", "eventType": 60}, "opened elsewhere", HostKind.ANNOTATION),
    ],
)
def test_ranges_of_libraries_and_operators_are_no_steps(
    tmp_path: Path, more: Row, name: str, kind: int
) -> None:
    """What emit_nvtx and NCCL mark are operators; the program's own marks may be steps."""
    tables = small()
    tables["NVTX_EVENTS"][0] |= {"textId": None, **more}
    timeline = of(tables, tmp_path)
    assert (timeline.names[timeline.host.name[0]], timeline.host.kind[0]) == (name, kind)


@pytest.mark.parametrize("more", [{"eventType": 34}, {"end": None}])
def test_marks_and_open_ranges_are_left_out(tmp_path: Path, more: Row) -> None:
    """A mark has no duration, and a range that never ended has none either."""
    tables = small()
    tables["NVTX_EVENTS"][0] |= more
    assert HostKind.ANNOTATION not in of(tables, tmp_path).host.kind.tolist()


def test_sampled_metrics_are_joined_on_type_and_metric(tmp_path: Path) -> None:
    """Metric 3 of one type is not metric 3 of another; the type says which GPU it was."""
    tables = small()
    tables["TARGET_INFO_GPU_METRICS"] = [
        {"typeId": 256, "metricId": 3, "metricName": "SMs Active [Throughput %]"},
        {"typeId": 257, "metricId": 3, "metricName": "Tensor Active [Throughput %]"},
        {"typeId": 257, "metricId": 4, "metricName": "GPC Clock Frequency [MHz]"},
    ]
    tables["GPU_METRICS"] = [
        {"timestamp": 1, "typeId": 256, "metricId": 3, "value": 40},
        {"timestamp": 2, "typeId": 256, "metricId": 3, "value": 60},
        {"timestamp": 2, "typeId": 257, "metricId": 3, "value": 7},
        {"timestamp": 2, "typeId": 257, "metricId": 4, "value": 1980},
    ]
    assert of(tables, tmp_path).notes == (
        "Sampled by nsys on GPU 0, mean of the whole recording: SMs Active 50%.",
        "Sampled by nsys on GPU 1, mean of the whole recording: Tensor Active 7%.",
    )


def test_an_older_schema_lacks_columns(tmp_path: Path) -> None:
    """Without graph nodes, shapes or ids of processes, the rest is read all the same."""
    tables = small()
    for row in (*tables[KERNEL], *tables[MEMCPY], *tables[SYNC]):
        for column in ("graphNodeId", "globalPid", "gridX", "eventSyncId"):
            row.pop(column, None)
    tables[RUNTIME] = [{**row, "globalTid": None} for row in tables[RUNTIME]]
    tables["NVTX_EVENTS"] = []
    timeline = one(write(tmp_path / "r.sqlite", tables, version=""))
    assert (timeline.gpu.grid[0], timeline.gpu.launch[0]) == (-1, 0)


def test_work_without_an_end_is_left_out_and_said(tmp_path: Path) -> None:
    """An end of 0 is what nsys writes for work that the recording cut off."""
    tables = small()
    tables[KERNEL].append(kernel(9_000, 0, 9))
    timeline = of(tables, tmp_path)
    assert timeline.gpu.start.tolist() == [3_000, 6_000]
    assert timeline.notes == ("1 row left out: without a begin and an end after it.",)


@pytest.mark.parametrize(
    ("start", "end"), [(1 << 61, (1 << 61) + 9), (5_000, 1 << 56), (-(1 << 63), (1 << 63) - 1)]
)
def test_times_that_cannot_be_are_left_out(tmp_path: Path, start: int, end: int) -> None:
    """A damaged time, whose sums would overflow, is no time; a diagnosis goes on without it."""
    tables = small()
    tables[KERNEL].append(kernel(start, end, 9))
    timeline = of(tables, tmp_path)
    assert timeline.gpu.start.tolist() == [3_000, 6_000]
    assert timeline.notes == ("1 row left out: without a begin and an end after it.",)


def test_times_since_1970_are_read(tmp_path: Path) -> None:
    """So does `--ts-normalize` write them."""
    tables, since = small(), 1_795_000_000_000_000_000
    for row in (row for rows in tables.values() for row in rows if "start" in row):
        row["start"], row["end"] = int(str(row["start"])) + since, int(str(row["end"])) + since
    timeline = of(tables, tmp_path)
    assert timeline.gpu.start.tolist() == [since + 3_000, since + 6_000]
    assert diagnose([timeline], "r").steps is not None


def test_progress_ends_with_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress counts bytes of the file, ever more, to its size, and goes on in a long table."""
    monkeypatch.setattr("tailwave.recordings.readers.nsys.database._ROWS_AT_ONCE", 500)
    tables = small()
    tables[KERNEL] = [kernel(10 * i + 1, 10 * i + 9, 1) for i in range(1_200)]
    path = write(tmp_path / "r.sqlite", tables)
    size = path.stat().st_size
    told: list[tuple[int, int]] = []
    read(path, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert [round(3 * done / size, 1) for done, _ in told[:2]] == [1.2, 2.5]
    assert told[-1] == (size, size)


def test_an_export_is_known_by_its_content(tmp_path: Path) -> None:
    """The name of the file does not matter."""
    assert one(write(tmp_path / "export.json", small())).kind == "nsys"


def test_an_export_is_not_written_to(tmp_path: Path) -> None:
    """Reading works in a folder without the right to write, and leaves no file beside it."""
    path = write(tmp_path / "r.sqlite", small())
    before = path.read_bytes()
    read(path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def _foreign(path: Path, table: str = "visits") -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE {table} (id)")


def _cut(path: Path) -> None:
    write(path, small())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _logged(path: Path) -> None:
    """Leave what a program that writes to the database has not written into it yet."""
    write(path, small())
    path.with_name("r.sqlite-wal").write_bytes(b"rows")


def _overwritten(path: Path) -> None:
    write(path, small())
    data = bytearray(path.read_bytes())
    data[4_096:20_000] = b"\xff" * len(data[4_096:20_000])
    path.write_bytes(data)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "report": (lambda p: p.with_suffix(".nsys-rep").write_bytes(b"NSYS"), "nsys export --type"),
    "foreign database": (_foreign, "not one of nsys"),
    "rocpd": (lambda p: _foreign(p, "rocpd_kernel_dispatch"), "a recording of rocprofv3"),
    "no CUDA": (lambda p: write(p, {"NVTX_EVENTS": []}), "--trace=cuda,nvtx"),
    "empty tables": (lambda p: write(p, {KERNEL: [], RUNTIME: []}), "no CUDA activity"),
    "empty file": (lambda p: p.write_bytes(b""), "not an SQLite database"),
    "text": (lambda p: p.write_text("start,end\n"), "not an SQLite database"),
    "compressed": (
        lambda p: p.with_suffix(".sqlite.gz").write_bytes(gzip.compress(b"S")),
        "gunzip",
    ),
    "an open log": (_logged, "not whole without r.sqlite-wal"),
    "cut": (_cut, "damaged database"),
    "overwritten": (_overwritten, "damaged database"),
    "header only": (lambda p: p.write_bytes(b"SQLite format 3\x00" + bytes(84)), "damaged"),
    "a later schema": (lambda p: write(p, small(), version="4.0.1"), "update tailwave"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_export_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], object],
    words: str,
) -> None:
    """The sentence names the file and says what to do; exit code 65."""
    make(tmp_path / "r.sqlite")
    path = min(tmp_path.iterdir())
    assert run(["diagnose", str(path)]) == UNREADABLE
    [line] = capsys.readouterr().err.splitlines()
    assert str(path) in line
    assert words in line


def test_damage_is_refused_or_survived(tmp_path: Path) -> None:
    """Whichever byte is wrong, reading gives timelines or one sentence."""
    path = write(tmp_path / "r.sqlite", small())
    sound = path.read_bytes()
    for at in range(0, len(sound), 331):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
        with suppress(UnreadableInputError):
            assert diagnose(read(path), str(path)).source.kind == "nsys"


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public recording is not shipped")
def test_totals_agree_with_sql() -> None:
    """Kernels, kernel time, bytes copied and calls of each GPU, counted by SQL on the same file."""
    timelines = read(PUBLIC)
    with closing(sqlite3.connect(f"file:{PUBLIC}?mode=ro", uri=True)) as database:
        for timeline in timelines:
            gpu, process = timeline.gpu, int(timeline.threads[0].pid)
            [device] = set(gpu.device.tolist())
            rows = gpu.kind == GpuKind.KERNEL
            where = "WHERE deviceId = ? AND (globalPid >> 24) & 16777215 = ?"
            [kernels] = database.execute(
                f"SELECT COUNT(*), SUM(end - start) FROM {KERNEL} {where}",  # noqa: S608 - ours
                (device, process),
            )
            assert kernels == (rows.sum(), (gpu.end - gpu.start)[rows].sum())
            [copied] = database.execute(
                f"SELECT COUNT(*), SUM(bytes) FROM {MEMCPY} {where}",  # noqa: S608 - ours
                (device, process),
            )
            copies = gpu.kind == GpuKind.MEMCPY
            assert copied == (copies.sum(), gpu.bytes[copies].sum())
            [(calls,)] = database.execute(
                f"SELECT COUNT(*) FROM {RUNTIME} WHERE (globalTid >> 24) & 16777215 = ?",  # noqa: S608
                (process,),
            )
            assert calls == (timeline.host.kind == HostKind.RUNTIME).sum()
    assert [set(t.gpu.device.tolist()) for t in timelines] == [{0}, {1}]


@pytest.mark.skipif(not PUBLIC.exists(), reason="the public recording is not shipped")
def test_the_public_recording_is_diagnosed() -> None:
    """Both GPUs are looked at, and the time of the slower one is divided."""
    diagnosis = diagnose(read(PUBLIC), str(PUBLIC))
    assert diagnosis.source.ranks == (0, 1)
    assert diagnosis.steps is not None
    assert sum(share.us for share in diagnosis.division) == pytest.approx(diagnosis.steps.mean_us)
    assert diagnosis.division[0].what == "kernels"


def test_whatif_and_diagnose_say_that_nsys_cost_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both work on an export, as recorded, with the same note."""
    tables = small()
    tables[MEMCPY], tables[SYNC], tables["NVTX_EVENTS"] = [], [], []
    tables[RUNTIME] = []
    tables[KERNEL] = []
    for i in range(1, 40):
        at, name = 20_000 * i, ("gemm<float>(int)", "gemm")[i % 2]
        tables[RUNTIME].append(call("cudaLaunchKernel_v7000", at, at + 18_000, i))
        tables[KERNEL].append(kernel(at + 18_500, at + 19_000, i, demangledName=string(name)))
    path = str(write(tmp_path / "r.sqlite", tables))
    least: list[str] = []
    for command in ("diagnose", "whatif"):
        assert run([command, path]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "What nsys itself cost the host is not known and was not taken off" in said
        least += re.findall(r"a step may take as little as (\d+) us", said)
    assert len(least) == 2
    assert len(set(least)) == 1


def test_a_folder_of_exports_is_a_run_of_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One export a rank, and a report that was not exported is named."""
    for rank in range(2):
        write(tmp_path / f"rank{rank}.sqlite", small())
    (tmp_path / "rank2.nsys-rep").write_bytes(b"NSYS")
    timelines = read(tmp_path)
    assert [t.rank for t in timelines] == [0, 1]
    assert run(["diagnose", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 ranks" in said
    assert "A file was left out" in said
    assert "nsys export --type sqlite" in said
