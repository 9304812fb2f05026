"""Reads the traces of PyTorch's profiler (Kineto): ``.json`` and ``.json.gz``, since 2021."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailwave.errors import UnreadableInputError
from tailwave.model import DeviceInfo, Thread, Timeline
from tailwave.recordings.readers.byte_source import TRACE_WANTED, ByteSource
from tailwave.recordings.readers.json_stream import BLOCK_BYTES, JsonStream
from tailwave.recordings.readers.kineto_columns import Columns
from tailwave.recordings.readers.kineto_events import BlockDecoder
from tailwave.recordings.readers.kineto_tables import gpu_table, host_table, wait_table

SUFFIXES = (".json", ".json.gz")
MAGIC = b""
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


def read_timelines(path: Path, progress: Progress | None = None) -> list[Timeline]:
    """Read one trace: the recording of one rank; as ``read_trace``."""
    return [read_trace(path, progress)]


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
    if not columns.host and not columns.gpu:
        raise UnreadableInputError(_nothing(path, columns, stream))
    return _timeline(path, columns, stream)


def _nothing(path: Path, columns: Columns, stream: JsonStream) -> str:
    if stream.fault:
        return f"{path} {stream.fault}, and holds no usable event before that: record it again."
    if not stream.has_events:
        return f"{path} is JSON without a list of events (traceEvents): {TRACE_WANTED}."
    return f"{path} holds no usable event ({columns.events} read): {TRACE_WANTED}."


def _collect(
    path: Path, progress: Progress | None, block_bytes: int, *, flows: bool
) -> tuple[Columns, JsonStream]:
    source = ByteSource(path)
    stream = JsonStream(source, _WANTED, block_bytes)
    decoder, columns = BlockDecoder(flows=flows), Columns()
    try:
        for block in stream.blocks():
            columns.add(decoder.decode(block, stream.split))
            if progress is not None:
                progress(source.position, source.size)
    finally:
        source.close()
    columns.finish()
    columns.left_out.update(decoder.left_out)
    return columns, stream


def _needs_flows(columns: Columns) -> bool:
    """Tell whether GPU work lacks the correlation that links it to its launch."""
    return any(bool((table["correlation"] < 0).any()) for table in columns.gpu)


def _timeline(path: Path, columns: Columns, stream: JsonStream) -> Timeline:
    host = host_table(columns)
    distributed = _mapping(stream.values.get("distributedInfo"))
    spans = columns.spans or [(0, 0)]
    return Timeline(
        names=tuple(columns.names),
        threads=tuple(
            Thread(pid, tid, columns.thread_names.get((pid, tid), ""))
            for pid, tid in columns.threads.texts
        ),
        devices=_devices(stream.values.get("deviceProperties")),
        host=host,
        gpu=gpu_table(columns, host),
        waits=wait_table(columns),
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
    if stream.gaps:
        places = f"{stream.gaps} place{'s' if stream.gaps > 1 else ''}"
        notes.append(f"The file is damaged in {places}; the events after that were read.")
    if stream.fault:
        notes.append(f"The file {stream.fault}; the {columns.events} events before that were read.")
    return tuple(notes)


def _devices(listed: object) -> tuple[DeviceInfo, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(_device(entry) for entry in listed if isinstance(entry, dict))


def _device(entry: dict[str, Any]) -> DeviceInfo:
    numbers = {field: _integer(entry.get(key)) for field, key in _DEVICE_FIELDS.items()}
    numbers["warp_size"] = numbers["warp_size"] or 32
    name = entry.get("name")
    name = name.encode(errors="replace").decode() if isinstance(name, str) else ""
    return DeviceInfo(index=_integer(entry.get("id")), name=name, **numbers)


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
