"""From columns of rows to the tables of a Timeline: sorted, and as narrow as the tables are."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tailwave.model import Flags, GpuTable, HostKind, HostTable, Ints, SmallInts, WaitTable

Rows: TypeAlias = dict[str, Ints]  # a column of equal length by each field


def taken(rows: Rows, which: Flags | Ints) -> Rows:
    """Return some rows, or all in another order."""
    return {field: column[which] for field, column in rows.items()}


def gpu_in_order(rows: Rows) -> Rows:
    """Sort GPU rows by start, then by end."""
    return _sorted(rows, np.lexsort((rows["end"], rows["start"])))


def host_table(rows: Rows) -> HostTable:
    """Make the host table: sorted by start, the enclosing row before the enclosed one."""
    rows = _sorted(rows, np.lexsort((-rows["end"], rows["start"])))
    return HostTable(
        start=rows["start"],
        end=rows["end"],
        name=_narrow(rows["name"]),
        kind=rows["kind"].astype(np.uint8),
        thread=_narrow(rows["thread"]),
        correlation=rows["correlation"],
    )


def gpu_table(rows: Rows, launch: Ints) -> GpuTable:
    """Make the GPU table of rows in order, given the host row that launched each (-1: none)."""
    return GpuTable(
        start=rows["start"],
        end=rows["end"],
        name=_narrow(rows["name"]),
        kind=rows["kind"].astype(np.uint8),
        device=_narrow(rows["device"]),
        stream=rows["stream"],
        correlation=rows["correlation"],
        launch=launch,
        grid=rows["grid"],
        block=_narrow(rows["block"]),
        registers=_narrow(rows["registers"]),
        shared=rows["shared"],
        bytes=rows["bytes"],
        graph_node=rows["graph_node"],
    )


def wait_table(rows: Rows) -> WaitTable:
    """Make the table of waits, sorted by start."""
    rows = _sorted(rows, np.argsort(rows["start"], kind="stable"))
    return WaitTable(
        start=rows["start"],
        end=rows["end"],
        name=_narrow(rows["name"]),
        device=_narrow(rows["device"]),
        stream=rows["stream"],
        source_stream=rows["source_stream"],
        correlation=rows["correlation"],
        record_correlation=rows["record_correlation"],
    )


def launches(correlation: Ints, host: HostTable) -> Ints:
    """Return the host row of the call of each correlation, within one process; -1 for none.

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


def _sorted(rows: Rows, order: Ints) -> Rows:
    """Order rows, without a copy where they are in order."""
    return rows if (order[1:] > order[:-1]).all() else taken(rows, order)


def _narrow(column: Ints) -> SmallInts:
    return np.minimum(column, np.iinfo(np.int32).max).astype(np.int32)
