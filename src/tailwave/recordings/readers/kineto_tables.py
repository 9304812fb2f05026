"""From the columns of a Kineto trace to the tables of a Timeline, with launches linked."""

from __future__ import annotations

import numpy as np

from tailwave.model import GpuTable, HostKind, HostTable, Ints, WaitTable
from tailwave.recordings.activity import tables
from tailwave.recordings.readers.kineto_columns import Columns, Table


def host_table(columns: Columns) -> HostTable:
    """Make the host table."""
    return tables.host_table(_joined(columns.host, HostTable.__struct_fields__))


def gpu_table(columns: Columns, host: HostTable) -> GpuTable:
    """Make the GPU table, and find the host row that launched each."""
    fields = (*(f for f in GpuTable.__struct_fields__ if f != "launch"), "place")
    table = tables.gpu_in_order(_joined(columns.gpu, fields))
    launch = _by_correlation(columns, host, table)
    if columns.flow_ends:
        launch = _by_arrow(columns, host, table, launch)
    return tables.gpu_table(table, launch)


def wait_table(columns: Columns) -> WaitTable:
    """Make the table of waits."""
    return tables.wait_table(_joined(columns.waits, WaitTable.__struct_fields__))


def _joined(blocks: list[Table], fields: tuple[str, ...]) -> Table:
    """Join the tables of the blocks column by column, freeing each as it is joined."""
    nothing = [np.zeros(0, dtype=np.int64)]
    return {
        field: np.concatenate([block.pop(field) for block in blocks] or nothing) for field in fields
    }


def _by_correlation(columns: Columns, host: HostTable, table: Table) -> Ints:
    """Host row of the call with each GPU row's correlation; -1 where there is none.

    Processes count their correlations apart, so one number can name several calls. Then a call of
    the process that drives the GPU row's device is taken, if there is one.
    """
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation >= 0))
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


def _latest_calls(host: HostTable, calls: Ints, table: Table, rows: Ints) -> Ints:
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
