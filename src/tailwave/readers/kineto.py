"""Reads the traces of PyTorch's profiler (Kineto): ``.json`` and ``.json.gz``, since 2021."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tailwave.errors import UnreadableInputError
from tailwave.model import (
    DeviceInfo,
    GpuTable,
    HostKind,
    HostTable,
    Ints,
    Thread,
    Timeline,
    WaitTable,
)
from tailwave.readers.json_stream import BLOCK_BYTES, ByteSource, JsonStream
from tailwave.readers.kineto_columns import Columns
from tailwave.readers.kineto_events import BlockDecoder

SUFFIXES = (".json", ".json.gz")
_WANTED = frozenset({"deviceProperties", "distributedInfo"})
_DEVICE_FIELDS = {
    "sm_count": "numSms",
    "compute_major": "computeMajor",
    "compute_minor": "computeMinor",
    "warp_size": "warpSize",
    "max_threads_per_sm": "maxThreadsPerMultiprocessor",
    "registers_per_sm": "regsPerMultiprocessor",
    "shared_per_sm": "sharedMemPerMultiprocessor",
    "shared_per_block_optin": "sharedMemPerBlockOptin",
}

Progress = Callable[[int, int], None]


def read_trace(
    path: Path, progress: Progress | None = None, *, block_bytes: int = BLOCK_BYTES
) -> Timeline:
    """Read one trace.

    ``progress`` is called with the bytes read of the file and its size. What had to be left out is
    said in the timeline's notes. Raises UnreadableInputError when the file holds no trace.
    """
    columns, stream = _collect(path, progress, block_bytes, flows=False)
    if _needs_flows(columns):
        columns, stream = _collect(path, progress, block_bytes, flows=True)
    if not stream.has_events:
        raise UnreadableInputError(
            f"{path} is JSON without a list of events (traceEvents): not a profiler trace."
        )
    if not columns.host and not columns.gpu:
        raise UnreadableInputError(_nothing(path, columns, stream))
    return _timeline(path, columns, stream)


def _nothing(path: Path, columns: Columns, stream: JsonStream) -> str:
    if stream.cut:
        return f"{path} ends before its first usable event: it was cut off, record it again."
    return (
        f"{path} holds no usable event ({columns.events} read): record with "
        "torch.profiler and export_chrome_trace."
    )


def _collect(
    path: Path, progress: Progress | None, block_bytes: int, *, flows: bool
) -> tuple[Columns, JsonStream]:
    source = ByteSource(path)
    stream = JsonStream(source, _WANTED, block_bytes)
    decoder, columns = BlockDecoder(flows=flows), Columns()
    precise: BlockDecoder | None = None
    try:
        for block in stream.blocks():
            split = cache(lambda raw: tuple(stream.split(raw)))  # splitting moves the stream
            events = decoder.decode(block, split)
            if columns.inexact(events):
                precise = precise or BlockDecoder(flows=flows, precise=True)
                events = precise.decode(block, split)
            columns.add(events)
            if progress is not None:
                progress(source.position, source.size)
    finally:
        source.close()
    columns.left_out.update(decoder.left_out)
    return columns, stream


def _needs_flows(columns: Columns) -> bool:
    """Tell whether GPU work lacks the correlation that links it to its launch."""
    return any(bool((table[6] < 0).any()) for table in columns.gpu)


def _timeline(path: Path, columns: Columns, stream: JsonStream) -> Timeline:
    host, host_rows = _host_table(columns)
    gpu = _gpu_table(columns, host, host_rows)
    distributed = _mapping(stream.values.get("distributedInfo"))
    spans = columns.spans or [(0, 0)]
    return Timeline(
        names=tuple(columns.names),
        threads=tuple(
            Thread(str(pid), str(tid), columns.thread_names.get((str(pid), str(tid)), ""))
            for pid, tid in columns.threads
        ),
        devices=_devices(stream.values.get("deviceProperties")),
        host=host,
        gpu=gpu,
        waits=_wait_table(columns),
        kind="kineto",
        path=str(path),
        rank=_integer(distributed.get("rank")),
        world_size=max(_integer(distributed.get("world_size")), 1),
        events=columns.events,
        recorded_from=min(start for start, _ in spans),
        recorded_to=max(end for _, end in spans),
        notes=_notes(columns, stream),
    )


def _notes(columns: Columns, stream: JsonStream) -> tuple[str, ...]:
    notes = [
        f"{count} event{'s' if count > 1 else ''} left out: {reason}."
        for reason, count in sorted(columns.left_out.items())
        if count
    ]
    if stream.cut:
        notes.append(f"The file ends early; the {columns.events} events before its end were read.")
    return tuple(notes)


def _joined(tables: list[Ints], rows: int) -> Ints:
    return np.concatenate(tables, axis=1) if tables else np.zeros((rows, 0), dtype=np.int64)


def _host_table(columns: Columns) -> tuple[HostTable, Ints]:
    """Sort the host rows, enclosing before enclosed; also return their (thread, start) columns."""
    table = _joined(columns.host, 6)
    columns.host.clear()
    table = table[:, np.lexsort((-table[1], table[0]))]
    host = HostTable(
        start=table[0].copy(),
        end=table[1].copy(),
        name=table[2].astype(np.int32),
        kind=table[3].astype(np.uint8),
        thread=table[4].astype(np.int32),
        correlation=table[5].copy(),
    )
    return host, table[[4, 0]]


def _gpu_table(columns: Columns, host: HostTable, host_rows: Ints) -> GpuTable:
    table = _joined(columns.gpu, 14)
    table = table[:, np.lexsort((table[1], table[0]))]
    launch = _launches(host, table[6], table[0])
    if columns.flow_ends:
        launch = _by_flow(columns, host, host_rows, table, launch)
    return GpuTable(
        start=table[0].copy(),
        end=table[1].copy(),
        name=table[2].astype(np.int32),
        kind=table[3].astype(np.uint8),
        device=table[4].astype(np.int32),
        stream=table[5].copy(),
        correlation=table[6].copy(),
        launch=launch,
        grid=table[7].copy(),
        block=np.minimum(table[8], np.iinfo(np.int32).max).astype(np.int32),
        registers=np.minimum(table[9], np.iinfo(np.int32).max).astype(np.int32),
        shared=table[10].copy(),
        bytes=table[11].copy(),
        graph_node=table[12].copy(),
    )


def _launches(host: HostTable, correlation: Ints, start: Ints) -> Ints:
    """Host row of the call with each GPU row's correlation; -1 where there is none.

    Processes and devices count their correlations apart, so one number can name several calls:
    the last of them that began before the GPU row is taken, else the first.
    """
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation >= 0))
    order = np.lexsort((host.start[calls], host.correlation[calls]))
    calls = calls[order]
    known = host.correlation[calls]
    low = np.searchsorted(known, correlation, side="left")
    high = np.searchsorted(known, correlation, side="right")
    result = np.full(len(correlation), -1, dtype=np.int64)
    found = (high > low) & (correlation >= 0)
    result[found] = calls[low[found]]
    for row in np.flatnonzero(found & (high - low > 1)):
        same = calls[low[row] : high[row]]
        began = int(np.searchsorted(host.start[same], start[row], side="right"))
        result[row] = same[max(began - 1, 0)]
    return result


def _by_flow(columns: Columns, host: HostTable, host_rows: Ints, table: Ints, launch: Ints) -> Ints:
    """Link by arrows what has no correlation: the arrow begins at the call, ends at the work."""
    runtime = np.flatnonzero(host.kind == HostKind.RUNTIME)
    where = {
        (int(thread), int(start)): int(row)
        for row, thread, start in zip(runtime, *host_rows[:, runtime], strict=True)
    }
    linked = launch.copy()
    for row in np.flatnonzero(launch < 0):
        arrow = columns.flow_ends.get((int(table[13, row]), int(table[0, row])))
        begin = columns.flow_starts.get(arrow) if arrow is not None else None
        if begin is not None:
            linked[row] = where.get(begin, -1)
    return linked


def _wait_table(columns: Columns) -> WaitTable:
    table = _joined(columns.waits, 8)
    table = table[:, np.argsort(table[0], kind="stable")]
    return WaitTable(
        start=table[0].copy(),
        end=table[1].copy(),
        name=table[2].astype(np.int32),
        device=table[3].astype(np.int32),
        stream=table[4].copy(),
        source_stream=table[5].copy(),
        correlation=table[6].copy(),
        record_correlation=table[7].copy(),
    )


def _devices(listed: object) -> tuple[DeviceInfo, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(_device(entry) for entry in listed if isinstance(entry, dict))


def _device(entry: dict[str, Any]) -> DeviceInfo:
    numbers = {field: _integer(entry.get(key)) for field, key in _DEVICE_FIELDS.items()}
    numbers["warp_size"] = numbers["warp_size"] or 32
    return DeviceInfo(index=_integer(entry.get("id")), name=str(entry.get("name", "")), **numbers)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _integer(value: object) -> int:
    """Read a property that should be a non-negative integer; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    try:
        number = int(float(value))
    except (ValueError, OverflowError):
        return 0
    return number if 0 <= number < 1 << 62 else 0
