"""From the rows of an nsys export to the tables of one process's Timeline."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from tailwave.model import Flags, GpuKind, HostKind, Ints, SmallInts
from tailwave.recordings.activity.names import MIGRATIONS
from tailwave.recordings.activity.tables import Rows, taken
from tailwave.recordings.readers.nsys.database import Cell, Database, first, product, total
from tailwave.recordings.readers.nsys.names import Names


class Parts(msgspec.Struct, frozen=True):
    """GPU, host and wait rows, of all processes or of one."""

    gpu: Rows
    host: Rows
    waits: Rows

    @property
    def tables(self) -> tuple[Rows, Rows, Rows]:
        """Return the three tables."""
        return self.gpu, self.host, self.waits

    def timed(self) -> Parts:
        """Return the rows that have a begin and an end after it, which others lack (cut short)."""
        return Parts(*(_kept(rows, _is_timed(rows)) for rows in self.tables))

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(len(rows["start"]) for rows in self.tables)

    def of(self, process: int) -> Parts:
        """Return the rows of one process."""
        return Parts(*(_kept(rows, rows["process"] == process) for rows in self.tables))

    def placed(self) -> Parts:
        """Give GPU rows and waits without a process that of the call with their correlation."""
        return Parts(_placed(self.gpu, self.host), self.host, _placed(self.waits, self.host))


# ENUM_NSYS_EVENT_TYPE: ranges of NVTX, and the making of a domain.
_PUSH_POP, _START_END, _DOMAIN = 59, 60, 75
# A global id is hardware (8 bits), VM (8 bits), process (24 bits) and thread (24 bits).
_PID_SHIFT: Final = 24
_PROCESS_MASK: Final = (1 << 40) - 1
_ID_MASK: Final = (1 << 24) - 1
_EVENT_SYNC, _STREAM_WAIT, _STREAM_SYNC = 1, 2, 3
# Times are of the recording, or (``--ts-normalize``) since 1970: none is after the year 2043, and
# nothing lasts for a year. What a damaged row says beyond that would not fit a sum.
_LAST_NS: Final = 1 << 61
_LONGEST_NS: Final = 1 << 55
# What CUPTI writes where there is no stream.
_NO_STREAM: Final = (1 << 32) - 1
# Domains in which libraries mark their own work; in others programs mark theirs (the Python
# package nvtx uses a domain "NVTX" where none is asked for).
_LIBRARIES: Final = frozenset(
    {"cccl", "cublas", "cublaslt", "cudnn", "cufft", "cufile", "curand", "cusolver", "cusparse"}
    | {"cutensor", "libcudf", "libkvikio", "librmm", "mpi", "nccl", "nvshmem", "tensorrt", "ucx"}
)
_GPU_TABLES: Final = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
)
RUNTIME: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
NVTX: Final = "NVTX_EVENTS"
_WAITS: Final = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_EVENTS: Final = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
LONG_TABLES: Final = (*_GPU_TABLES, RUNTIME, NVTX, _WAITS, _EVENTS)
_WHEN: Final = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")


def process_of(global_id: Ints) -> Ints:
    """Return the processes within global ids, each told from others of other machines."""
    return np.where(global_id == -1, -1, global_id >> _PID_SHIFT & _PROCESS_MASK)


def pid_of(process: int) -> int:
    """Return a process's id on its machine."""
    return process & _ID_MASK if process >= 0 else -1


def thread_of(global_id: Ints) -> Ints:
    """Return the thread ids within global ids."""
    return np.where(global_id == -1, -1, global_id & _ID_MASK)


def gpu_rows(database: Database, names: Names) -> Rows:
    """Read the work of all GPUs and processes, with what moved pages of managed memory."""
    readers = (_kernels, _copies, _memsets, _graphs, _page_faults)
    rows = _joined([read(database, names) for read in readers])
    return _kept(rows, ~_also_by_node(rows))


def _also_by_node(rows: Rows) -> Flags:
    """Tell which rows stand for a whole graph whose nodes are there too."""
    whole = rows["whole_graph"] > 0
    if not whole.any():
        return np.zeros(len(whole), dtype=bool)
    _, process = np.unique(rows["process"], return_inverse=True)
    launch = process.astype(np.int64) << 32 | rows["correlation"] & _NO_STREAM
    known = rows["correlation"] >= 0
    return np.asarray(whole & known & np.isin(launch, launch[~whole & known]))


def _kernels(database: Database, names: Names) -> Rows:
    got = database.columns(
        _GPU_TABLES[0],
        {
            **_cells(_WHEN),
            "name": first("demangledName", "shortName", "mangledName"),
            "grid": product("gridX", "gridY", "gridZ"),
            "block": product("blockX", "blockY", "blockZ"),
            "registers": Cell(("registersPerThread",)),
            "shared": total("staticSharedMemory", "dynamicSharedMemory"),
            "graph_node": Cell(("graphNodeId",)),
        },
    )
    for side in ("grid", "block"):
        # What SQL multiplies of no numbers is 0.
        got[side] = np.where(got[side] <= 0, -1, got[side])
    return _gpu_part(got, GpuKind.KERNEL, names.of_strings(got["name"]))


def _copies(database: Database, names: Names) -> Rows:
    own = ("bytes", "copyKind", "srcKind", "dstKind", "migrationCause")
    got = database.columns(_GPU_TABLES[1], _cells((*_WHEN, *own), graph_node="graphNodeId"))
    name = np.empty(len(got["start"]), dtype=np.int32)
    pages = np.isin(got["copyKind"], list(MIGRATIONS))
    copied, moved = taken(got, ~pages), taken(got, pages)
    name[~pages] = names.of_copies(copied["copyKind"], copied["srcKind"], copied["dstKind"])
    name[pages] = names.of_migrations(moved["copyKind"], moved["migrationCause"])
    return _gpu_part(got, GpuKind.MEMCPY, name)


def _page_faults(database: Database, names: Names) -> Rows:
    """Read groups of page faults of GPUs: the time from the fault until the page was there."""
    got = database.columns(_GPU_TABLES[4], _WHEN)
    name = names.named(got["start"] * 0, lambda _: "GPU page faults (managed)")
    return _gpu_part(got, GpuKind.MEMCPY, name)


def _memsets(database: Database, names: Names) -> Rows:
    cells = _cells((*_WHEN, "bytes", "memKind"), graph_node="graphNodeId")
    got = database.columns(_GPU_TABLES[2], cells)
    return _gpu_part(got, GpuKind.MEMSET, names.of_memsets(got["memKind"]))


def _graphs(database: Database, names: Names) -> Rows:
    """Read graphs that were recorded as a whole (``--cuda-graph-trace=graph``, the default).

    Such a row is the time in which the GPU ran the graph's nodes: work, not idle time.
    """
    got = database.columns(_GPU_TABLES[3], _cells((*_WHEN, "graphId")))
    return _gpu_part(got, GpuKind.KERNEL, names.of_graphs(got["graphId"]), whole_graph=True)


def _cells(columns: tuple[str, ...], **renamed: str) -> dict[str, Cell]:
    return {field: Cell((c,)) for field, c in ({c: c for c in columns} | renamed).items()}


def _gpu_part(got: Rows, kind: GpuKind, name: SmallInts, *, whole_graph: bool = False) -> Rows:
    rows = len(got["start"])
    unknown = np.full(rows, -1, dtype=np.int64)
    fields = ("grid", "block", "registers", "shared", "bytes")
    node = got.get("graph_node", unknown)
    return {
        "start": got["start"],
        "end": got["end"],
        "name": name.astype(np.int64),
        "kind": np.full(rows, kind, dtype=np.int64),
        "device": got["deviceId"],
        "stream": _stream(got["streamId"]),
        # 0 is no call, and no node: migrations of managed memory, say, have none.
        "correlation": np.where(got["correlationId"] == 0, -1, got["correlationId"]),
        "graph_node": np.where(node == 0, -1, node),
        "process": process_of(got["globalPid"]),
        "whole_graph": np.full(rows, whole_graph, dtype=np.int64),
        **{field: got.get(field, unknown) for field in fields},
    }


def _stream(stream: Ints) -> Ints:
    return np.where(stream == _NO_STREAM, -1, stream)


def host_rows(database: Database, names: Names) -> Rows:
    """Read what the host threads did: calls of the runtime and driver, NVTX ranges."""
    return _joined([_calls(database, names), _ranges(database, names)])


def _calls(database: Database, names: Names) -> Rows:
    wanted = ("start", "end", "globalTid", "correlationId", "nameId")
    got = database.columns(RUNTIME, wanted)
    return {
        "start": got["start"],
        "end": got["end"],
        "name": names.of_calls(got["nameId"]).astype(np.int64),
        "kind": np.full(len(got["start"]), HostKind.RUNTIME, dtype=np.int64),
        "thread": got["globalTid"],
        "process": process_of(got["globalTid"]),
        "correlation": got["correlationId"],
    }


def _ranges(database: Database, names: Names) -> Rows:
    """Read the NVTX ranges: a library's own, and operators', are operators; others annotations."""
    wanted = ("start", "end", "globalTid", "textId", "domainId", "eventType")
    got = database.columns(NVTX, wanted, ("text", names.of_text))
    library = _of_libraries(got, names)
    # Ranges of the start/end kind need not enclose each other, as a library's calls do.
    ranges = np.isin(got["eventType"], (_PUSH_POP, -1))
    ranges |= (got["eventType"] == _START_END) & ~library
    kept = np.flatnonzero(ranges & (got["end"] >= got["start"]))
    got, library = taken(got, kept), library[kept]
    code, operator = names.of_ranges(got["text"], got["textId"])
    return {
        "start": got["start"],
        "end": got["end"],
        "name": code,
        "kind": np.where(library | operator, HostKind.OPERATOR, HostKind.ANNOTATION),
        "thread": got["globalTid"],
        "process": process_of(got["globalTid"]),
        "correlation": np.full(len(kept), -1, dtype=np.int64),
    }


def _of_libraries(got: Rows, names: Names) -> Flags:
    """Tell which NVTX events are in a library's domain; one without a name is taken for such."""
    process = process_of(got["globalTid"])
    library = got["domainId"] > 0
    made = np.flatnonzero(got["eventType"] == _DOMAIN)
    code, _ = names.of_ranges(got["text"][made], got["textId"][made])
    for row, name in zip(made.tolist(), code.tolist(), strict=True):
        if names.names[name].lower() not in _LIBRARIES:
            same = got["domainId"] == got["domainId"][row]
            library[same & (process == process[row])] = False
    return library


def wait_rows(database: Database, names: Names) -> Rows:
    """Read who waited for what."""
    wanted = (*_WHEN, "contextId", "syncType", "deprecatedSyncType", "eventId", "eventSyncId")
    got = database.columns(_WAITS, wanted)
    kind = np.where(got["syncType"] > 0, got["syncType"], got["deprecatedSyncType"])
    by_event = np.isin(kind, (_EVENT_SYNC, _STREAM_WAIT))
    source, record = _recorded(database, got)
    stream = _stream(got["streamId"])
    return {
        "start": got["start"],
        "end": got["end"],
        "name": names.of_syncs(kind).astype(np.int64),
        "device": got["deviceId"],
        "stream": np.where(kind == _STREAM_WAIT, stream, -1),
        "source_stream": np.where(by_event, source, np.where(kind == _STREAM_SYNC, stream, -1)),
        "correlation": got["correlationId"],
        "record_correlation": np.where(by_event, record, -1),
        "process": process_of(got["globalPid"]),
    }


def _recorded(database: Database, waits: Rows) -> tuple[Ints, Ints]:
    """Return stream and call of the record that each wait waits for; -1 if there is none.

    ``eventSyncId`` names it. Exports from before 2025 lack it; there it is the latest record of
    the event before the wait, and an event's id is its context's own.
    """
    wanted = ("globalPid", "contextId", "eventId", "eventSyncId", "streamId", "correlationId")
    got = database.columns(_EVENTS, wanted)
    if len(got["eventId"]) == 0 or len(waits["start"]) == 0:
        nothing = np.full(len(waits["start"]), -1, dtype=np.int64)
        return nothing, nothing
    named = bool((got["eventSyncId"] > 0).any())
    fields = ("globalPid", *(("eventSyncId",) if named else ("contextId", "eventId")))
    both = [np.concatenate([got[field], waits[field]]) for field in fields]
    _, event = np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)
    call = np.concatenate([got["correlationId"], waits["correlationId"]])
    # In the order of the calls, each event's on its own: who recorded it last?
    order = np.lexsort((call, event.ravel()))
    event, records = event.ravel()[order], order < len(got["eventId"])
    last = np.maximum.accumulate(np.where(records, np.arange(len(order)), -1))
    found = (last >= 0) & (event[last] == event)
    record = np.empty(len(order), dtype=np.int64)
    record[order] = np.where(found, order[last], -1)
    record = record[len(got["eventId"]) :]
    return (
        np.where(record >= 0, _stream(got["streamId"][record]), -1),
        np.where(record >= 0, got["correlationId"][record], -1),
    )


def _is_timed(rows: Rows) -> Flags:
    start, end = rows["start"], rows["end"]
    within = (start >= 0) & (end < _LAST_NS)
    return np.asarray(within & (end >= start) & (end - np.where(within, start, end) < _LONGEST_NS))


def _placed(rows: Rows, host: Rows) -> Rows:
    """Give rows without a process that of the one call with their correlation, if there is one."""
    lost = rows["process"] == -1
    calls = np.flatnonzero((host["process"] >= 0) & (host["correlation"] >= 0))
    if len(calls) == 0 or not lost.any():
        return rows
    calls = calls[np.lexsort((host["process"][calls], host["correlation"][calls]))]
    correlation, process = host["correlation"][calls], host["process"][calls]
    low = np.minimum(np.searchsorted(correlation, rows["correlation"]), len(calls) - 1)
    high = np.maximum(np.searchsorted(correlation, rows["correlation"], side="right") - 1, 0)
    same = (correlation[low] == rows["correlation"]) & (process[low] == process[high])
    only = process.min() if process.min() == process.max() else -1
    found = np.where(same, process[low], only)
    return {**rows, "process": np.where(lost, found, rows["process"])}


def _joined(parts: list[Rows]) -> Rows:
    return {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}


def _kept(rows: Rows, keep: Flags) -> Rows:
    """Select rows, without a copy where all are kept."""
    return rows if keep.all() else taken(rows, keep)
