"""Reads a trace in Chrome's Trace Event Format into a Timeline, with launches linked.

What differs from profiler to profiler is what its events mean: a reader gives them Kineto's
categories and arguments, and the rest is one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tailwave.errors import UnreadableInputError
from tailwave.model import GpuTable, HostKind, HostTable, Ints, Thread, Timeline, WaitTable
from tailwave.recordings.activity import tables
from tailwave.recordings.activity.tables import Rows
from tailwave.recordings.readers.byte_source import TRACE_WANTED, ByteSource
from tailwave.recordings.readers.json_stream import BLOCK_BYTES, JsonStream
from tailwave.recordings.readers.reader import ByteProgress
from tailwave.recordings.readers.trace_columns import Columns
from tailwave.recordings.readers.trace_events import BlockDecoder, Event

# Gives a block's events Kineto's categories and arguments, and leaves out what means nothing.
Translation: TypeAlias = Callable[[Sequence[Event]], Sequence[Event]]
# Accelerators that are no GPUs, by the name of a process; the host's events are as PyTorch's.
_FOREIGN = {"Ascend Hardware": "torch_npu's trace of an Ascend NPU"}
_MOST_CATEGORIES = 5


class Trace(NamedTuple):
    """What was read of a trace: its events, the wanted top-level values, and what is wrong."""

    columns: Columns
    values: dict[str, Any]
    events: int
    notes: tuple[str, ...]


def collect(  # noqa: PLR0913 - what differs between the readers
    path: Path,
    progress: ByteProgress | None,
    columns: Columns,
    decoder: BlockDecoder,
    *,
    wanted: Iterable[str] = (),
    translation: Translation = lambda events: events,
    block_bytes: int = BLOCK_BYTES,
) -> Trace:
    """Read a trace's events into columns; raises UnreadableInputError where none is of use."""
    source = ByteSource(path)
    stream = JsonStream(source, frozenset(wanted), block_bytes)
    count = 0
    try:
        for block in stream.blocks():
            events = decoder.decode(block, stream.split)
            count += len(events)
            columns.add(translation(events))
            if progress is not None:
                progress(source.position, source.size)
    finally:
        source.close()
    columns.finish()
    columns.left_out.update(decoder.left_out)
    if fault := _fault(columns, stream, count):
        raise UnreadableInputError(f"{path} {fault}.")
    return Trace(columns, stream.values, count, _notes(columns, stream, count))


def _fault(columns: Columns, stream: JsonStream, events: int) -> str:
    """Say why a trace is of no use; nothing for one that is."""
    foreign = [what for process, what in _FOREIGN.items() if process in columns.processes]
    if foreign and not columns.gpu:
        return f"is {foreign[0]}, which is no GPU: tailwave reads recordings of NVIDIA and AMD GPUs"
    if columns.host or columns.gpu:
        return ""
    if stream.fault:
        return f"{stream.fault}, and holds no usable event before that: record it again"
    if not stream.has_events:
        return f"is JSON without a list of events (traceEvents): {TRACE_WANTED}"
    categories = columns.categories[:_MOST_CATEGORIES]
    of_what = f", of the categories {', '.join(categories)}" if categories else ""
    return f"holds no usable event ({events} read{of_what}): {TRACE_WANTED}"


def _notes(columns: Columns, stream: JsonStream, events: int) -> tuple[str, ...]:
    notes = [
        f"{count} event{'s' if count > 1 else ''} left out: {reason}."
        for reason, count in sorted(columns.left_out.items())
        if count
    ]
    if stream.fault:
        notes.append(f"The file {stream.fault}; the {events} events before that were read.")
    return tuple(notes)


def timeline_of(path: Path, trace: Trace, kind: str) -> Timeline:
    """Make a Timeline of what was read: one rank of one, on GPUs that nothing is known of."""
    columns = trace.columns
    host = tables.host_table(_joined(columns.host, HostTable.__struct_fields__))
    fields = (*(f for f in GpuTable.__struct_fields__ if f != "launch"), "place")
    work = tables.gpu_in_order(_joined(columns.gpu, fields))
    launch = _by_correlation(columns, host, work)
    if columns.flow_ends:
        launch = _by_arrow(columns, host, work, launch)
    spans = columns.spans or [(0, 0)]
    return Timeline(
        names=tuple(columns.names),
        threads=tuple(
            Thread(pid, tid, columns.thread_names.get((pid, tid), ""))
            for pid, tid in columns.threads.texts
        ),
        devices=(),
        host=host,
        gpu=tables.gpu_table(work, launch),
        waits=tables.wait_table(_joined(columns.waits, WaitTable.__struct_fields__)),
        kind=kind,
        path=str(path),
        events=trace.events,
        recorded_from=min(start for start, _ in spans),
        recorded_to=max(end for _, end in spans),
        notes=trace.notes,
    )


def _joined(blocks: list[Rows], fields: tuple[str, ...]) -> Rows:
    """Join the tables of the blocks column by column, freeing each as it is joined."""
    nothing = [np.zeros(0, dtype=np.int64)]
    return {
        field: np.concatenate([block.pop(field) for block in blocks] or nothing) for field in fields
    }


def _by_correlation(columns: Columns, host: HostTable, table: Rows) -> Ints:
    """Host row of the call with each GPU row's correlation; -1 where there is none.

    Processes count their correlations apart, so one number can name several calls. Then a call of
    the process that drives the GPU row's device is taken, if there is one.
    """
    calls = np.flatnonzero(host.correlation >= 0)
    rows = np.flatnonzero(table["correlation"] >= 0)
    called, wanted = host.correlation[calls], table["correlation"][rows]
    order = np.argsort(called, kind="stable")
    low = np.searchsorted(called, wanted, side="left", sorter=order)
    times = np.searchsorted(called, wanted, side="right", sorter=order) - low
    launch = np.full(len(table["start"]), -1, dtype=np.int64)
    launch[rows[times == 1]] = calls[order[low[times == 1]]]
    unclear = rows[times > 1]
    if len(unclear):
        launch[unclear] = _latest_calls(host, calls, table, unclear)
        process = _processes(columns)[host.thread]
        drivers = _drivers(process, table["device"], launch, rows[times == 1])
        for device, driver in drivers.items():
            own = calls[process[calls] == driver]
            here = unclear[table["device"][unclear] == device]
            better = _latest_calls(host, own, table, here)
            launch[here] = np.where(better >= 0, better, launch[here])
    return launch


def _latest_calls(host: HostTable, calls: Ints, table: Rows, rows: Ints) -> Ints:
    """For GPU rows, the last of the calls of their correlation that began before them.

    The first of those calls where all began later; -1 where there is none.
    """
    correlation = np.concatenate([host.correlation[calls], table["correlation"][rows]])
    start = np.concatenate([host.start[calls], table["start"][rows]])
    is_row = np.arange(len(start)) >= len(calls)
    order = np.lexsort((is_row, start, correlation))
    ordered_rows = is_row[order]
    at = np.arange(len(order))
    before = np.maximum.accumulate(np.where(ordered_rows, -1, at))
    after = np.minimum.accumulate(np.where(ordered_rows, len(order), at)[::-1])[::-1]
    result = np.full(len(start), -1, dtype=np.int64)
    for found in (after, before):  # before wins
        valid = ordered_rows & (found >= 0) & (found < len(order))
        mine, its = order[valid], order[found[valid]]
        same = correlation[mine] == correlation[its]
        result[mine[same]] = calls[its[same]]
    return result[len(calls) :]


def _processes(columns: Columns) -> Ints:
    """Give each thread the number of its process."""
    pids = [pid for pid, _ in columns.threads.texts]
    codes = {pid: code for code, pid in enumerate(dict.fromkeys(pids))}
    return np.array([codes[pid] for pid in pids], dtype=np.int64)


def _drivers(process: Ints, device: Ints, launch: Ints, clear: Ints) -> dict[int, int]:
    """Find the process that launched most of each device's rows whose launch is clear."""
    drivers: dict[int, int] = {}
    for one in np.unique(device[clear]).tolist():
        rows = clear[device[clear] == one]
        drivers[one] = int(np.bincount(process[launch[rows]]).argmax())
    return drivers


def _by_arrow(columns: Columns, host: HostTable, table: Rows, launch: Ints) -> Ints:
    """Link by arrows what has no correlation: the arrow begins at the call, ends at the work."""
    calls = np.flatnonzero(host.kind == HostKind.RUNTIME)
    rows = {(int(host.thread[call]), int(host.start[call])): int(call) for call in calls}
    linked = launch.copy()
    for row in np.flatnonzero(launch < 0):
        arrow = columns.flow_ends.get((int(table["place"][row]), int(table["start"][row])))
        if arrow is None or arrow not in columns.flow_begins:
            continue
        place, at = columns.flow_begins[arrow]
        linked[row] = rows.get((columns.threads.get(place, -1), at), -1)
    return linked
