"""From CUPTI's records to the tables of a Timeline."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from tailwave.cures.recorder import layouts
from tailwave.cures.recorder.codes import Texts
from tailwave.cures.recorder.raw import ProcessReport, Records
from tailwave.model import Flags, GpuKind, HostKind, Ints
from tailwave.recordings import Rows

RecordsByKind: TypeAlias = dict[int, Records]

_DOMAINS: Final = {layouts.DRIVER: 1, layouts.RUNTIME: 2}
_RANGE_BEGINS, _RANGE_ENDS = 2, 4  # CUPTI_ACTIVITY_FLAG_MARKER_START, _END
_OF_THREAD: Final = 2  # CUPTI_ACTIVITY_OBJECT_THREAD
_STREAM_WAIT: Final = 2
_NO_STREAM: Final = (1 << 32) - 1


def column(records: Records, field: str) -> Ints:
    """Return a field of records as integers; -1 where this version of CUPTI has no such field."""
    names = records.dtype.names or ()
    if field not in names:
        return np.full(len(records), -1, dtype=np.int64)
    return np.ascontiguousarray(records[field]).astype(np.int64)


def gpu_columns(found: RecordsByKind, codes: Texts) -> Rows:
    """Return what the GPUs did, in the order of the records."""
    copies = (found.get(layouts.MEMCPY), found.get(layouts.MEMCPY_PEER))
    parts = [_kernels(found.get(layouts.KERNEL), codes)]
    parts += [_copies(records, codes) for records in copies]
    return _joined([*parts, _memsets(found.get(layouts.MEMSET), codes)], _gpu(_none(), {}))


def _kernels(records: Records | None, codes: Texts) -> Rows | None:
    if records is None:
        return None
    return _gpu(
        records,
        {
            "kind": _all(records, GpuKind.KERNEL),
            "name": codes.of_kernels(column(records, "name")).astype(np.int64),
            "grid": column(records, "grid").prod(axis=1),
            "block": column(records, "block").prod(axis=1),
            "registers": column(records, "registers"),
            "shared": column(records, "static_shared") + column(records, "dynamic_shared"),
        },
    )


def _copies(records: Records | None, codes: Texts) -> Rows | None:
    if records is None:
        return None
    ends = (column(records, field) for field in ("copy", "source", "target"))
    name = codes.of_copies(*ends).astype(np.int64)
    own = {"kind": _all(records, GpuKind.MEMCPY), "name": name, "bytes": column(records, "bytes")}
    return _gpu(records, own)


def _memsets(records: Records | None, codes: Texts) -> Rows | None:
    if records is None:
        return None
    name = codes.of_memsets(column(records, "memory")).astype(np.int64)
    own = {"kind": _all(records, GpuKind.MEMSET), "name": name, "bytes": column(records, "bytes")}
    return _gpu(records, own)


def _gpu(records: Records, own: Rows) -> Rows:
    """Return all columns of GPU work, in which what a kind does not have is -1."""
    fields = ("start", "end", "device", "context", "stream", "correlation")
    shared = {field: column(records, field) for field in fields}
    node = column(records, "graph_node")
    missing = ("kind", "name", "grid", "block", "registers", "shared", "bytes")
    unknown = {field: _all(records, -1) for field in missing}
    return {**shared, "graph_node": np.where(node == 0, -1, node), **unknown, **own}


def host_columns(found: RecordsByKind, report: ProcessReport, codes: Texts) -> Rows:
    """Return what the host's threads did: calls, NVTX ranges, the program's marks of its steps."""
    parts: list[Rows | None] = [
        _calls(records, kind, report, codes) for kind, records in _outer_calls(found).items()
    ]
    parts += [_ranges(found.get(layouts.MARKER), codes), _steps(report, codes)]
    fields = ("start", "end", "name", "kind", "thread", "correlation")
    return _joined(parts, {field: np.zeros(0, dtype=np.int64) for field in fields})


def _outer_calls(found: RecordsByKind) -> RecordsByKind:
    """Return the calls that the program made: not those of the driver within the runtime's own.

    Both bear one correlation.
    """
    calls = {kind: found[kind] for kind in _DOMAINS if kind in found}
    if len(calls) == len(_DOMAINS):
        runtime, driver = calls[layouts.RUNTIME], calls[layouts.DRIVER]
        within = np.isin(driver["correlation"], runtime["correlation"])
        calls[layouts.DRIVER] = driver[~within]
    return calls


def _calls(records: Records, kind: int, report: ProcessReport, codes: Texts) -> Rows:
    name = codes.of_calls(column(records, "number"), _DOMAINS[kind], report.calls)
    fields = ("start", "end", "thread", "correlation")
    shared = {field: column(records, field) for field in fields}
    runtime = _all(records, HostKind.RUNTIME)
    return {**shared, "name": name.astype(np.int64), "kind": runtime}


def _ranges(records: Records | None, codes: Texts) -> Rows | None:
    """Pair the begin of each range with its end: a library's own are operators."""
    if records is None:
        return None
    flags = column(records, "flags")
    begins, ends = records[(flags & _RANGE_BEGINS) > 0], records[(flags & _RANGE_ENDS) > 0]
    _, first, last = np.intersect1d(begins["id"], ends["id"], return_indices=True)
    begins, ends = begins[first], ends[last]
    of_library = codes.is_named(column(begins, "domain"))
    of_thread = column(begins, "object") == _OF_THREAD
    return {
        "start": column(begins, "time"),
        "end": column(ends, "time"),
        "name": codes.of_ranges(column(begins, "name")).astype(np.int64),
        "kind": np.where(of_library, HostKind.OPERATOR, HostKind.ANNOTATION),
        "thread": np.where(of_thread, column(begins, "thread"), column(begins, "process")),
        "correlation": _all(begins, -1),
    }


def _steps(report: ProcessReport, codes: Texts) -> Rows:
    """Make an annotation of the time from each mark to the next: the first ends no known step."""
    marks = np.array(report.steps, dtype=np.int64).reshape(-1, 2)
    name = [codes.code(f"step {number}") for number in range(1, len(marks))]
    return {
        "start": marks[:-1, 0],
        "end": marks[1:, 0],
        "name": np.array(name, dtype=np.int64),
        "kind": np.full(len(name), HostKind.ANNOTATION, dtype=np.int64),
        "thread": marks[1:, 1],
        "correlation": np.full(len(name), -1, dtype=np.int64),
    }


def wait_columns(found: RecordsByKind, gpu: Rows, codes: Texts) -> Rows:
    """Return who waited for what."""
    records = found.get(layouts.SYNC, _none())
    kind, stream = column(records, "type"), column(records, "stream")
    stream = np.where(stream == _NO_STREAM, -1, stream)
    is_stream_wait = kind == _STREAM_WAIT
    recorded, source = _recorded(found.get(layouts.EVENT, _none()), column(records, "event_sync"))
    return {
        "start": column(records, "start"),
        "end": column(records, "end"),
        "name": codes.of_syncs(kind).astype(np.int64),
        "device": _device_of(column(records, "context"), gpu),
        "stream": np.where(is_stream_wait, stream, -1),
        "source_stream": np.where(is_stream_wait | (source >= 0), source, stream),
        "correlation": column(records, "correlation"),
        "record_correlation": recorded,
    }


def _recorded(events: Records, wanted: Ints) -> tuple[Ints, Ints]:
    """Return the call that recorded the event of each wait, and its stream; -1 if unknown."""
    known, first = np.unique(column(events, "event_sync"), return_index=True)
    unknown = np.full(len(wanted), -1, dtype=np.int64)
    if len(known) == 0 or len(wanted) == 0:
        return unknown, unknown
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    same = (known[at] == wanted) & (wanted > 0)
    row = first[at]
    return (
        np.where(same, column(events, "correlation")[row], -1),
        np.where(same, column(events, "stream")[row], -1),
    )


def _device_of(context: Ints, gpu: Rows) -> Ints:
    """Return the device of each context, by the work that ran in it; the first where none did."""
    known, first = np.unique(gpu["context"], return_index=True)
    devices = gpu["device"][first]
    if len(known) == 0:
        return np.zeros(len(context), dtype=np.int64)
    at = np.minimum(np.searchsorted(known, context), len(known) - 1)
    return np.where(known[at] == context, devices[at], devices[0])


def timed(columns: Rows) -> Flags:
    """Tell which rows have a begin and an end: what was going on at the end has none."""
    return np.asarray((columns["start"] > 0) & (columns["end"] >= columns["start"]))


def _all(records: Records, value: int) -> Ints:
    return np.full(len(records), value, dtype=np.int64)


def _none() -> Records:
    return np.zeros(0, dtype=np.dtype([("kind", "u4")]))


def _joined(parts: list[Rows | None], empty: Rows) -> Rows:
    there = [part for part in parts if part is not None] or [empty]
    return {field: np.concatenate([part[field] for part in there]) for field in empty}
