"""A small export of nsys, made row by row, with the columns that nsys writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

Row = dict[str, object]
Tables = dict[str, list[Row]]

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
STRINGS = (
    "gemm<float>(int)",
    "gemm",
    "cudaLaunchKernel_v7000",
    "cudaMemcpyAsync_v3020",
    "main thread",
    "cudaGraphLaunch_v10000",
    "cudaStreamSynchronize_v3020",
    "ncclAllReduce",
    "cudaEventRecord_v3020",
    "cudaStreamWaitEvent_v3020",
    "cudaGetDevice_v3020",
)


def string(text: str) -> int:
    """Return the id of a string of the export."""
    return STRINGS.index(text) + 1


def thread(process: int, number: int = 7) -> int:
    """Return a thread's global id, which holds its process's."""
    return 1 << 56 | process << 24 | number


def call(name: str, start: int, end: int, correlation: int, process: int = 100) -> Row:
    """Make a call of the runtime."""
    return {
        "start": start,
        "end": end,
        "globalTid": thread(process),
        "correlationId": correlation,
        "nameId": string(name),
    }


def on_gpu(start: int, end: int, correlation: int, process: int = 100, device: int = 0) -> Row:
    """Make what all GPU work has."""
    return {
        "start": start,
        "end": end,
        "deviceId": device,
        "streamId": 7,
        "correlationId": correlation,
        "globalPid": thread(process, 0),
    }


def kernel(
    start: int, end: int, correlation: int, process: int = 100, device: int = 0, **more: object
) -> Row:
    """Make a kernel of 6 CTAs of 64 threads."""
    shape = {"gridX": 3, "gridY": 2, "gridZ": 1, "blockX": 32, "blockY": 2, "blockZ": 1}
    return {
        **on_gpu(start, end, correlation, process, device),
        **shape,
        "demangledName": string("gemm<float>(int)"),
        "shortName": string("gemm"),
        "registersPerThread": 16,
        "staticSharedMemory": 1000,
        "dynamicSharedMemory": 24,
        "graphNodeId": None,
        **more,
    }


def small() -> Tables:
    """Return the tables of a recording of one kernel, one copy and one synchronisation."""
    return {
        RUNTIME: [
            call("cudaLaunchKernel_v7000", 1_000, 1_400, 1),
            call("cudaMemcpyAsync_v3020", 2_000, 2_300, 2),
            call("cudaStreamSynchronize_v3020", 2_500, 9_000, 3),
        ],
        KERNEL: [kernel(3_000, 5_000, 1)],
        MEMCPY: [
            {**on_gpu(6_000, 8_000, 2), "bytes": 4096, "copyKind": 1, "srcKind": 0, "dstKind": 2}
        ],
        SYNC: [{**on_gpu(2_600, 8_900, 3), "syncType": 3, "eventId": 0, "eventSyncId": 0}],
        "NVTX_EVENTS": [
            {
                "start": 900,
                "end": 9_100,
                "eventType": 59,
                "text": "step 0",
                "globalTid": thread(100),
                "domainId": 0,
            }
        ],
        "ThreadNames": [{"nameId": string("main thread"), "globalTid": thread(100)}],
        "TARGET_INFO_GPU": [
            {
                "id": 4,
                "name": "NVIDIA H200",
                "smCount": 132,
                "computeMajor": 9,
                "computeMinor": 0,
                "threadsPerWarp": 32,
                "maxWarpsPerSm": 64,
                "maxRegistersPerSm": 65536,
                "maxShmemPerSm": 233472,
                "maxShmemPerBlockOptin": 232448,
            }
        ],
        "TARGET_INFO_CUDA_DEVICE": [
            {"gpuId": 4, "cudaId": 0, "pid": 100, "numMultiprocessors": 132}
        ],
    }


def write(path: Path, tables: Tables, version: str = "3.25.0") -> Path:
    """Write an export; a table's columns are those that its rows have."""
    strings: list[Row] = [{"id": i, "value": text} for i, text in enumerate(STRINGS, 1)]
    about: list[Row] = [{"name": "EXPORT_SCHEMA_VERSION", "value": version}]
    with closing(sqlite3.connect(path)) as database, database:
        for table, rows in {"StringIds": strings, "META_DATA_EXPORT": about, **tables}.items():
            _write_table(database, table, rows)
    return path


def _write_table(database: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row)) or ["start", "end"]
    database.execute(f'CREATE TABLE "{table}" ({", ".join(f"[{c}]" for c in columns)})')
    marks = ", ".join("?" * len(columns))
    database.executemany(
        f'INSERT INTO "{table}" VALUES ({marks})',  # noqa: S608 - names of this file
        [[row.get(column) for column in columns] for row in rows],
    )
