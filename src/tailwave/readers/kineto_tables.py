"""From the columns of a Kineto trace to the tables of a Timeline: sorted, launches linked."""

from __future__ import annotations

import numpy as np

from tailwave.model import GpuTable, HostKind, HostTable, Ints, SmallInts, WaitTable
from tailwave.readers.kineto_columns import Columns, Table


def host_table(columns: Columns) -> HostTable:
    """Sort the host rows: by start, the enclosing row before the enclosed one."""
    table = _joined(columns.host, HostTable.__struct_fields__)
    table = _ordered(table, np.lexsort((-table["end"], table["start"])))
    return HostTable(
        start=table["start"],
        end=table["end"],
        name=_narrow(table["name"]),
        kind=table["kind"].astype(np.uint8),
        thread=_narrow(table["thread"]),
        correlation=table["correlation"],
    )


def gpu_table(columns: Columns, host: HostTable) -> GpuTable:
    """Sort the GPU rows by start, and find the host row that launched each."""
    fields = (*(f for f in GpuTable.__struct_fields__ if f != "launch"), "place")
    table = _joined(columns.gpu, fields)
    table = _ordered(table, np.lexsort((table["end"], table["start"])))
    launch = _by_correlation(host, table["correlation"], table["start"])
    if columns.flow_ends:
        launch = _by_arrow(columns, host, table, launch)
    return GpuTable(
        start=table["start"],
        end=table["end"],
        name=_narrow(table["name"]),
        kind=table["kind"].astype(np.uint8),
        device=_narrow(table["device"]),
        stream=table["stream"],
        correlation=table["correlation"],
        launch=launch,
        grid=table["grid"],
        block=_narrow(table["block"]),
        registers=_narrow(table["registers"]),
        shared=table["shared"],
        bytes=table["bytes"],
        graph_node=table["graph_node"],
    )


def wait_table(columns: Columns) -> WaitTable:
    """Sort the waits by start."""
    table = _joined(columns.waits, WaitTable.__struct_fields__)
    table = _ordered(table, np.argsort(table["start"], kind="stable"))
    return WaitTable(
        start=table["start"],
        end=table["end"],
        name=_narrow(table["name"]),
        device=_narrow(table["device"]),
        stream=table["stream"],
        source_stream=table["source_stream"],
        correlation=table["correlation"],
        record_correlation=table["record_correlation"],
    )


def _joined(blocks: list[Table], fields: tuple[str, ...]) -> Table:
    """Join the tables of the blocks column by column, freeing each as it is joined."""
    nothing = [np.zeros(0, dtype=np.int64)]
    return {
        field: np.concatenate([block.pop(field) for block in blocks] or nothing) for field in fields
    }


def _ordered(table: Table, order: Ints) -> Table:
    return {field: column[order] for field, column in table.items()}


def _narrow(column: Ints) -> SmallInts:
    return np.minimum(column, np.iinfo(np.int32).max).astype(np.int32)


def _by_correlation(host: HostTable, correlation: Ints, start: Ints) -> Ints:
    """Host row of the call with each GPU row's correlation; -1 where there is none.

    Processes count their correlations apart, so one number can name several calls: the last of
    them that began before the GPU row is taken, else the first.
    """
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation >= 0))
    calls = calls[np.lexsort((host.start[calls], host.correlation[calls]))]
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


def _by_arrow(columns: Columns, host: HostTable, table: Table, launch: Ints) -> Ints:
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
