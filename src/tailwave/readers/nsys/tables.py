"""From the rows of an nsys export to the tables of one process's Timeline."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
import numpy as np

from tailwave.model import Flags, GpuKind, GpuTable, HostKind, HostTable, Ints, SmallInts, WaitTable
from tailwave.readers.nsys.database import Database
from tailwave.readers.nsys.names import Names

Table: TypeAlias = dict[str, Ints]


class Parts(msgspec.Struct, frozen=True):
    """GPU, host and wait rows, of all processes or of one."""

    gpu: Table
    host: Table
    waits: Table

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """Return the three tables."""
        return self.gpu, self.host, self.waits

    def timed(self) -> Parts:
        """Return the rows that have a begin and an end after it, which others lack (cut short)."""
        return Parts(*(_ordered(rows, _is_timed(rows)) for rows in self.tables))

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(len(rows["start"]) for rows in self.tables)

    def of(self, process: int) -> Parts:
        """Return the rows of one process."""
        return Parts(*(_ordered(rows, rows["process"] == process) for rows in self.tables))


_PUSH_POP, _START_END = 59, 60  # NVTX ranges in ENUM_NSYS_EVENT_TYPE
_PID_SHIFT: Final = 24  # a global id is hardware, VM, process (24 bits) and thread (24 bits)
_ID_MASK: Final = (1 << 24) - 1
_STREAM_WAIT: Final = 2
_GPU_TABLES: Final = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
RUNTIME: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
NVTX: Final = "NVTX_EVENTS"
_WAITS: Final = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_EVENTS: Final = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
_WHEN: Final = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")


def process_of(global_id: Ints) -> Ints:
    """Return the process ids within global ids."""
    return np.where(global_id < 0, -1, global_id >> _PID_SHIFT & _ID_MASK)


def thread_of(global_id: Ints) -> Ints:
    """Return the thread ids within global ids."""
    return np.where(global_id < 0, -1, global_id & _ID_MASK)


def gpu_rows(database: Database, names: Names) -> Table:
    """Read the work of all GPUs and processes: kernels, copies, memsets, graphs as a whole."""
    parts = [_kernels(database, names), _copies(database, names), _memsets(database, names)]
    return _joined([*parts, _graphs(database, names)])


def _kernels(database: Database, names: Names) -> Table:
    grid, block = ("gridX", "gridY", "gridZ"), ("blockX", "blockY", "blockZ")
    name = ("demangledName", "shortName", "mangledName")
    other = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId")
    got = database.columns(_GPU_TABLES[0], (*_WHEN, *grid, *block, *name, *other))
    shared = got["staticSharedMemory"] + got["dynamicSharedMemory"]
    return _gpu_part(
        got,
        GpuKind.KERNEL,
        name=names.of_strings(*(got[one] for one in name)),
        grid=_product(got, grid),
        block=_product(got, block),
        registers=got["registersPerThread"],
        shared=np.where(got["staticSharedMemory"] < 0, -1, shared),
        graph_node=got["graphNodeId"],
    )


def _copies(database: Database, names: Names) -> Table:
    own = ("bytes", "copyKind", "srcKind", "dstKind", "graphNodeId")
    got = database.columns(_GPU_TABLES[1], (*_WHEN, *own))
    name = names.of_copies(got["copyKind"], got["srcKind"], got["dstKind"])
    return _gpu_part(
        got, GpuKind.MEMCPY, name=name, bytes=got["bytes"], graph_node=got["graphNodeId"]
    )


def _memsets(database: Database, names: Names) -> Table:
    got = database.columns(_GPU_TABLES[2], (*_WHEN, "bytes", "memKind", "graphNodeId"))
    name = names.of_memsets(got["memKind"])
    return _gpu_part(
        got, GpuKind.MEMSET, name=name, bytes=got["bytes"], graph_node=got["graphNodeId"]
    )


def _graphs(database: Database, names: Names) -> Table:
    """Read graphs that were recorded as a whole (``--cuda-graph-trace=graph``, the default).

    Such a row is the time in which the GPU ran the graph's nodes: work, not idle time.
    """
    got = database.columns(_GPU_TABLES[3], (*_WHEN, "graphId"))
    return _gpu_part(got, GpuKind.KERNEL, name=names.of_graphs(got["graphId"]), whole_graph=True)


def _gpu_part(
    got: Table, kind: GpuKind, *, name: SmallInts, whole_graph: bool = False, **own: Ints
) -> Table:
    rows = len(got["start"])
    unknown = np.full(rows, -1, dtype=np.int64)
    fields = ("grid", "block", "registers", "shared", "bytes", "graph_node")
    return {
        "start": got["start"],
        "end": got["end"],
        "name": name.astype(np.int64),
        "kind": np.full(rows, kind, dtype=np.int64),
        "device": got["deviceId"],
        "stream": got["streamId"],
        "correlation": got["correlationId"],
        "process": process_of(got["globalPid"]),
        "whole_graph": np.full(rows, whole_graph, dtype=np.int64),
        **{field: _node(own.get(field, unknown), field) for field in fields},
    }


def _node(column: Ints, field: str) -> Ints:
    """Return a column; 0 is no graph node."""
    return np.where(column == 0, -1, column) if field == "graph_node" else column


def _product(got: Table, sides: tuple[str, ...]) -> Ints:
    x, y, z = (got[side] for side in sides)
    return np.where((x < 0) | (y < 0) | (z < 0), -1, x * y * z)


def host_rows(database: Database, names: Names) -> Table:
    """Read what the host threads did: calls of the runtime and driver, NVTX ranges."""
    return _joined([_calls(database, names), _ranges(database, names)])


def _calls(database: Database, names: Names) -> Table:
    wanted = ("start", "end", "globalTid", "correlationId", "nameId")
    got = database.columns(RUNTIME, wanted)
    return {
        "start": got["start"],
        "end": got["end"],
        "name": names.of_calls(got["nameId"]).astype(np.int64),
        "kind": np.full(len(got["start"]), HostKind.RUNTIME, dtype=np.int64),
        "thread": got["globalTid"],
        "correlation": got["correlationId"],
    }


def _ranges(database: Database, names: Names) -> Table:
    """Read the NVTX ranges: a library's own, and operators', are operators; others annotations."""
    wanted = ("start", "end", "globalTid", "textId", "domainId", "eventType")
    got = database.columns(NVTX, wanted)
    texts = [text for (text,) in database.rows(NVTX, ("text",))]
    kept = np.flatnonzero(
        np.isin(got["eventType"], (_PUSH_POP, _START_END, -1)) & (got["end"] >= got["start"])
    )
    got = {field: column[kept] for field, column in got.items()}
    code, operator = names.of_ranges([texts[i] for i in kept.tolist()], got["textId"])
    library = got["domainId"] > 0
    return {
        "start": got["start"],
        "end": got["end"],
        "name": code.astype(np.int64),
        "kind": np.where(library | (operator > 0), HostKind.OPERATOR, HostKind.ANNOTATION),
        "thread": got["globalTid"],
        "correlation": np.full(len(kept), -1, dtype=np.int64),
    }


def wait_rows(database: Database, names: Names) -> Table:
    """Read who waited for what."""
    wanted = (*_WHEN, "syncType", "deprecatedSyncType", "eventId", "eventSyncId")
    got = database.columns(_WAITS, wanted)
    kind = np.where(got["syncType"] < 0, got["deprecatedSyncType"], got["syncType"])
    recorded = _recorded_events(database)
    keys = zip(process_of(got["globalPid"]).tolist(), got["eventSyncId"].tolist(), strict=True)
    found = [recorded.get(key, (-1, -1)) for key in keys]
    source = np.array([stream for stream, _ in found], dtype=np.int64)
    stream_waits = kind == _STREAM_WAIT
    return {
        "start": got["start"],
        "end": got["end"],
        "name": names.of_syncs(kind).astype(np.int64),
        "device": got["deviceId"],
        "stream": np.where(stream_waits, got["streamId"], -1),
        "source_stream": np.where(stream_waits | (source >= 0), source, got["streamId"]),
        "correlation": got["correlationId"],
        "record_correlation": np.array([record for _, record in found], dtype=np.int64),
        "process": process_of(got["globalPid"]),
    }


def _recorded_events(database: Database) -> dict[tuple[int, int], tuple[int, int]]:
    """Return stream and correlation of each recorded event, by process and synchronisation."""
    got = database.columns(_EVENTS, ("globalPid", "eventSyncId", "streamId", "correlationId"))
    keys = zip(process_of(got["globalPid"]).tolist(), got["eventSyncId"].tolist(), strict=True)
    values = zip(got["streamId"].tolist(), got["correlationId"].tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


def host_table(rows: Table) -> HostTable:
    """Sort host rows: by start, the enclosing row before the enclosed one."""
    rows = _ordered(rows, np.lexsort((-rows["end"], rows["start"])))
    return HostTable(
        start=rows["start"],
        end=rows["end"],
        name=rows["name"].astype(np.int32),
        kind=rows["kind"].astype(np.uint8),
        thread=rows["thread"].astype(np.int32),
        correlation=rows["correlation"],
    )


def gpu_table(rows: Table, host: HostTable) -> GpuTable:
    """Sort GPU rows by start, and find the call that launched each by its correlation."""
    rows = _ordered(rows, np.lexsort((rows["end"], rows["start"])))
    return GpuTable(
        start=rows["start"],
        end=rows["end"],
        name=rows["name"].astype(np.int32),
        kind=rows["kind"].astype(np.uint8),
        device=rows["device"].astype(np.int32),
        stream=rows["stream"],
        correlation=rows["correlation"],
        launch=_launches(rows["correlation"], host),
        grid=rows["grid"],
        block=rows["block"].astype(np.int32),
        registers=rows["registers"].astype(np.int32),
        shared=rows["shared"],
        bytes=rows["bytes"],
        graph_node=rows["graph_node"],
    )


def wait_table(rows: Table) -> WaitTable:
    """Sort waits by start."""
    rows = _ordered(rows, np.argsort(rows["start"], kind="stable"))
    return WaitTable(
        start=rows["start"],
        end=rows["end"],
        name=rows["name"].astype(np.int32),
        device=rows["device"].astype(np.int32),
        stream=rows["stream"],
        source_stream=rows["source_stream"],
        correlation=rows["correlation"],
        record_correlation=rows["record_correlation"],
    )


def _launches(correlation: Ints, host: HostTable) -> Ints:
    """Host row of the call of each correlation; -1 where there is none.

    A call of the runtime and the driver's call within it bear one correlation: the outer one,
    which comes first, is taken.
    """
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation >= 0))
    if len(calls) == 0:
        return np.full(len(correlation), -1, dtype=np.int64)
    order = calls[np.argsort(host.correlation[calls], kind="stable")]
    at = np.searchsorted(host.correlation[order], correlation)
    found = order[np.minimum(at, len(order) - 1)]
    same = (host.correlation[found] == correlation) & (correlation >= 0)
    return np.where(same, found, -1)


def _is_timed(rows: Table) -> Flags:
    return np.asarray((rows["start"] >= 0) & (rows["end"] >= rows["start"]))


def _joined(parts: list[Table]) -> Table:
    return {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}


def _ordered(rows: Table, order: Ints | Flags) -> Table:
    return {field: column[order] for field, column in rows.items()}
