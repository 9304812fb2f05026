"""A Timeline as a Chrome trace, which Perfetto, chrome://tracing and tailwave itself open."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tailwave.errors import UsageError
from tailwave.model import DeviceInfo, GpuKind, HostKind, Timeline

_HOST_CATEGORY = {
    HostKind.OPERATOR: "cpu_op",
    HostKind.RUNTIME: "cuda_runtime",
    HostKind.PYTHON: "python_function",
    HostKind.ANNOTATION: "user_annotation",
}
_GPU_CATEGORY = {
    GpuKind.KERNEL: "kernel",
    GpuKind.MEMCPY: "gpu_memcpy",
    GpuKind.MEMSET: "gpu_memset",
}


def to_chrome(timeline: Timeline) -> bytes:
    """Return the timeline in the trace event format, times in microseconds."""
    document = {
        "schemaVersion": 1,
        "deviceProperties": [_device(device) for device in timeline.devices],
        "distributedInfo": {"rank": timeline.rank, "world_size": timeline.world_size},
        "displayTimeUnit": "ms",
        "traceEvents": [*_rows(timeline), *_host(timeline), *_gpu(timeline)],
    }
    return msgspec.json.encode(document)


def save_chrome(timeline: Timeline, path: Path) -> None:
    """Write the timeline as a Chrome trace, compressed where the file's name ends in .gz.

    Raises UsageError when the file cannot be written.
    """
    document = to_chrome(timeline)
    if path.suffix == ".gz":
        document = gzip.compress(document)
    try:
        path.write_bytes(document)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error


def _device(device: DeviceInfo) -> dict[str, Any]:
    return {
        "id": device.index,
        "name": device.name,
        "numSms": device.sm_count,
        "computeMajor": device.compute_major,
        "computeMinor": device.compute_minor,
        "warpSize": device.warp_size,
        "maxThreadsPerMultiprocessor": device.max_threads_per_sm,
        "regsPerMultiprocessor": device.registers_per_sm,
        "sharedMemPerMultiprocessor": device.shared_per_sm,
        "sharedMemPerBlockOptin": device.shared_per_block_optin,
    }


def _rows(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Name the rows on which a viewer shows the events."""
    for device in sorted({int(d) for d in timeline.gpu.device}):
        yield _named("process_name", device, 0, f"GPU {device}")
        streams = timeline.gpu.stream[timeline.gpu.device == device]
        for stream in sorted({int(s) for s in streams}):
            yield _named("thread_name", device, stream, f"stream {stream}")
    for thread in timeline.threads:
        pid, tid = _id(thread.pid), _id(thread.tid)
        yield _named("process_name", pid, 0, "host")
        yield _named("thread_name", pid, tid, thread.name or f"thread {thread.tid}")


def _named(what: str, pid: int | str, tid: int | str, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _id(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _us(ns: int) -> float:
    return ns / 1000


def _host(timeline: Timeline) -> Iterator[dict[str, Any]]:
    host = timeline.host
    columns = (host.start, host.end, host.name, host.kind, host.thread, host.correlation)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for start, end, name, kind, thread, correlation in rows:
        where = timeline.threads[thread]
        event: dict[str, Any] = {
            "ph": "X",
            "cat": _HOST_CATEGORY[HostKind(kind)],
            "name": timeline.names[name],
            "pid": _id(where.pid),
            "tid": _id(where.tid),
            "ts": _us(start),
            "dur": _us(end - start),
        }
        if correlation >= 0:
            event["args"] = {"correlation": correlation}
            yield _arrow("s", correlation, event)
        yield event


def _gpu(timeline: Timeline) -> Iterator[dict[str, Any]]:
    gpu = timeline.gpu
    for row in range(len(gpu)):
        correlation = int(gpu.correlation[row])
        event: dict[str, Any] = {
            "ph": "X",
            "cat": _GPU_CATEGORY[GpuKind(gpu.kind[row])],
            "name": timeline.names[gpu.name[row]],
            "pid": int(gpu.device[row]),
            "tid": int(gpu.stream[row]),
            "ts": _us(int(gpu.start[row])),
            "dur": _us(int(gpu.end[row] - gpu.start[row])),
            "args": _gpu_arguments(timeline, row),
        }
        yield event
        if correlation >= 0:
            yield _arrow("f", correlation, event) | {"bp": "e"}


def _gpu_arguments(timeline: Timeline, row: int) -> dict[str, Any]:
    gpu = timeline.gpu
    arguments: dict[str, Any] = {
        "device": int(gpu.device[row]),
        "stream": int(gpu.stream[row]),
        "correlation": int(gpu.correlation[row]),
        "registers per thread": int(gpu.registers[row]),
        "shared memory": int(gpu.shared[row]),
        "bytes": int(gpu.bytes[row]),
        "graph node id": int(gpu.graph_node[row]),
    }
    known = {key: value for key, value in arguments.items() if value >= 0}
    for key, size in (("grid", int(gpu.grid[row])), ("block", int(gpu.block[row]))):
        if size > 0:
            known[key] = [size, 1, 1]
    return known


def _arrow(phase: str, identity: int, event: dict[str, Any]) -> dict[str, Any]:
    place = {key: event[key] for key in ("pid", "tid", "ts")}
    return {"ph": phase, "id": identity, "cat": "ac2g", "name": "ac2g", **place}
