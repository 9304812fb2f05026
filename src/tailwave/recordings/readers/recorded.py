"""Reads and writes tailwave's own recordings: ``.tailwave``, what ``tailwave record`` leaves.

A file is a line that says what it is, eight bytes with the length of a header, the header in JSON,
and the columns of all tables, one after the other. The header holds a schema number, and of each
process all but the columns, for each of which it has the type, the number of rows, and the number
of bytes. A column is packed: the differences of its values, their bytes sorted by significance,
through zlib.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from tailwave.errors import UnreadableInputError
from tailwave.files import refused
from tailwave.model import (
    DeviceInfo,
    GpuKind,
    GpuTable,
    HostKind,
    HostTable,
    Ints,
    Thread,
    Timeline,
    WaitTable,
)
from tailwave.recordings.readers.reader import ByteProgress, Certainty

WHAT: str = "recordings of tailwave (.tailwave)"
SUFFIXES: tuple[str, ...] = (".tailwave",)
RUNS: str = ""
RECORD_GPU: str = "Record again with `tailwave record`, and with no other profiler on the GPU."
MAGIC: Final = b"tailwave recording\n"
SCHEMA: Final = 1
_LENGTH_BYTES: Final = 8
# zlib packs a byte into no less than a thousandth: a column that claims more is damaged.
_MOST_PACKED: Final = 1100
_TYPES: Final = {"i8": np.int64, "i4": np.int32, "u1": np.uint8}

Column: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.int32] | npt.NDArray[np.uint8]
Columns = TypeVar("Columns", HostTable, GpuTable, WaitTable)


class _Packed(msgspec.Struct, frozen=True):
    """A column as the header tells of it: its type, its rows, its bytes in the file."""

    type: str
    rows: int
    bytes: int


class _Process(msgspec.Struct, frozen=True):
    """A Timeline without its columns."""

    names: tuple[str, ...]
    threads: tuple[Thread, ...]
    devices: tuple[DeviceInfo, ...]
    rank: int
    world_size: int
    events: int
    recorded_from: int
    recorded_to: int
    notes: tuple[str, ...]
    host: dict[str, _Packed]
    gpu: dict[str, _Packed]
    waits: dict[str, _Packed]


_TABLES: Final = ("host", "gpu", "waits")
_PLAIN: Final = tuple(name for name in _Process.__struct_fields__ if name not in _TABLES)


class _Schema(msgspec.Struct, frozen=True):
    """What every header has, whatever its schema."""

    schema: int
    tool_version: str = ""


class _Header(msgspec.Struct, frozen=True):
    """What the file holds, in the order of its columns."""

    schema: int
    tool_version: str
    processes: tuple[_Process, ...]


def write_timelines(path: Path, timelines: Sequence[Timeline], tool_version: str) -> None:
    """Write one recording, a timeline a process; raises OSError where the file cannot be made.

    The file takes its name when it is whole.
    """
    columns: list[bytes] = []
    processes = tuple(_described(timeline, columns) for timeline in timelines)
    header = msgspec.json.encode(_Header(SCHEMA, tool_version, processes))
    unfinished = path.with_name(f".{path.name}.part")
    with unfinished.open("wb") as file:
        file.write(MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + header)
        file.writelines(columns)
    unfinished.replace(path)


def claims(path: Path, head: bytes) -> Certainty:
    """Know a recording by its first line, or by its name."""
    if head.startswith(MAGIC):
        return Certainty.BY_MAGIC
    return Certainty.BY_NAME if path.name.lower().endswith(SUFFIXES) else Certainty.NOT_MINE


def read_timelines(path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
    """Read a recording: one timeline a process.

    ``progress`` is called with the bytes read and their total. Raises UnreadableInputError when
    the file is no recording, is damaged, or is of a newer tailwave's making.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refused(path, error) from error
    try:
        header, at = _header(path, data)
        columns = _columns(header, data, at)
        found = [_timeline(path, process, columns) for process in header.processes]
    except (ValueError, zlib.error, msgspec.DecodeError) as error:
        raise UnreadableInputError(f"{path} is damaged ({error}): record it again.") from error
    if not found:
        raise UnreadableInputError(f"{path} holds no process: record it again.")
    if progress is not None:
        progress(len(data), len(data))
    return found


def _described(timeline: Timeline, columns: list[bytes]) -> _Process:
    """Describe a timeline, and add its packed columns."""
    described: dict[str, Any] = {name: getattr(timeline, name) for name in _PLAIN}
    for name in _TABLES:
        described[name] = _described_table(getattr(timeline, name), columns)
    return _Process(**described)


def _described_table(
    table: HostTable | GpuTable | WaitTable, columns: list[bytes]
) -> dict[str, _Packed]:
    described = {}
    for field in table.__struct_fields__:
        values: Column = getattr(table, field)
        packed = _pack(values)
        columns.append(packed)
        described[field] = _Packed(values.dtype.str[1:], len(values), len(packed))
    return described


def _pack(values: Column) -> bytes:
    differences = np.diff(values, prepend=values.dtype.type(0))
    little = differences.astype(values.dtype.newbyteorder("<"))
    return zlib.compress(little.view(np.uint8).reshape(-1, values.itemsize).T.tobytes())


def _unpack(packed: bytes, told: _Packed) -> Column:
    """Unpack a column; raises ValueError or zlib.error for one that is not what was told of it."""
    if told.type not in _TYPES:
        raise ValueError(f"a column of type {told.type!r}")
    form = np.dtype(_TYPES[told.type])
    size = told.rows * form.itemsize
    if told.rows < 0 or size > _MOST_PACKED * len(packed) + 1024:
        raise ValueError("a column of impossible length")
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(packed, size + 1)
    if len(raw) != size or not unpacking.eof:
        raise ValueError("a column of another length than was written")
    sorted_bytes = np.frombuffer(raw, dtype=np.uint8).reshape(form.itemsize, told.rows)
    little = np.ascontiguousarray(sorted_bytes.T).view(form.newbyteorder("<")).reshape(-1)
    values: Column = np.cumsum(little, dtype=form)
    return values


def _header(path: Path, data: bytes) -> tuple[_Header, int]:
    """Return the header, and where the columns begin."""
    begin = len(MAGIC) + _LENGTH_BYTES
    if not data.startswith(MAGIC):
        raise UnreadableInputError(
            f"{path} is no recording: give a file that `tailwave record` made."
        )
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    if len(data) < begin or end > len(data):
        raise ValueError("it ends early")
    written = msgspec.json.decode(data[begin:end], type=_Schema)
    if written.schema > SCHEMA:
        raise UnreadableInputError(
            f"{path} was recorded by tailwave {written.tool_version}, whose format is newer than "
            "this one reads: update tailwave."
        )
    return msgspec.json.decode(data[begin:end], type=_Header), end


def _columns(header: _Header, data: bytes, at: int) -> Iterator[Column]:
    """Unpack the file's columns, one after the other."""
    for process in header.processes:
        for table in (process.host, process.gpu, process.waits):
            for told in table.values():
                if told.bytes < 0 or at + told.bytes > len(data):
                    raise ValueError("it ends early")
                yield _unpack(data[at : at + told.bytes], told)
                at += told.bytes


def _timeline(path: Path, process: _Process, columns: Iterator[Column]) -> Timeline:
    host = _table(HostTable, process.host, columns)
    gpu = _table(GpuTable, process.gpu, columns)
    waits = _table(WaitTable, process.waits, columns)
    for table in (host, gpu, waits):
        _within(table.name, len(process.names))
    _within(host.thread, len(process.threads))
    _within(host.kind, len(HostKind))
    _within(gpu.kind, len(GpuKind))
    _within(gpu.launch, len(host), least=-1)
    plain = {name: getattr(process, name) for name in _PLAIN}
    return Timeline(host=host, gpu=gpu, waits=waits, kind="record", path=str(path), **plain)


def _table(kind: type[Columns], told: dict[str, _Packed], columns: Iterator[Column]) -> Columns:
    fields = kind.__struct_fields__
    if tuple(told) != fields:
        raise ValueError(f"a {kind.__name__} with other columns")
    found: dict[str, Any] = {field: next(columns) for field in fields}
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError("columns of different lengths in one table")
    return kind(**found)


def _within(codes: Column | Ints, count: int, least: int = 0) -> None:
    """Check that codes lead to an entry of a list this long."""
    if len(codes) and not (least <= int(codes.min()) and int(codes.max()) < count):
        raise ValueError("a number that leads nowhere")
