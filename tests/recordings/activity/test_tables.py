"""Rows become tables: sorted, linked to their launches, and narrow."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.model import GpuTable, HostKind, HostTable, WaitTable
from tailwave.recordings.activity.tables import (
    Rows,
    gpu_in_order,
    gpu_table,
    host_table,
    launches,
    wait_table,
)

OPERATOR, CALL = int(HostKind.OPERATOR), int(HostKind.RUNTIME)


def rows(fields: tuple[str, ...], **columns: list[int]) -> Rows:
    """Return rows with these columns, and 0 in the others."""
    length = len(next(iter(columns.values())))
    zeros = dict.fromkeys(fields, [0] * length)
    return {field: np.array(column, dtype=np.int64) for field, column in (zeros | columns).items()}


def host(**columns: list[int]) -> HostTable:
    """Return the host table of rows."""
    return host_table(rows(HostTable.__struct_fields__, **columns))


def test_the_enclosing_host_row_comes_before_the_enclosed() -> None:
    """Of rows that begin together the longest is first."""
    table = host(start=[5, 1, 1], end=[6, 3, 9], name=[0, 1, 2])
    assert (table.start.tolist(), table.name.tolist()) == ([1, 1, 5], [2, 1, 0])


def test_gpu_rows_are_sorted_by_start_and_then_by_end() -> None:
    """All columns move together."""
    fields = tuple(field for field in GpuTable.__struct_fields__ if field != "launch")
    ordered = gpu_in_order(rows(fields, start=[4, 2, 2], end=[5, 9, 3], bytes=[1, 2, 3]))
    table = gpu_table(ordered, np.array([7, 8, 9]))
    assert (table.bytes.tolist(), table.launch.tolist()) == ([3, 2, 1], [7, 8, 9])


def test_rows_in_order_are_not_copied() -> None:
    """Millions of rows usually are."""
    fields = tuple(field for field in GpuTable.__struct_fields__ if field != "launch")
    table = rows(fields, start=[1, 2], end=[2, 3])
    assert gpu_in_order(table) is table


def test_waits_keep_their_order_where_they_begin_together() -> None:
    """Sorted by start alone."""
    table = wait_table(rows(WaitTable.__struct_fields__, start=[2, 1, 1], correlation=[1, 2, 3]))
    assert table.correlation.tolist() == [2, 3, 1]


@pytest.mark.parametrize(("correlation", "row"), [(8, 1), (5, 0), (6, -1), (-1, -1)])
def test_work_is_linked_to_the_outer_call_of_its_correlation(correlation: int, row: int) -> None:
    """The driver's call within the runtime's bears the same number; operators bear none."""
    table = host(
        start=[0, 2, 3, 9],
        end=[1, 8, 4, 10],
        kind=[CALL, CALL, CALL, OPERATOR],
        correlation=[5, 8, 8, 6],
    )
    assert launches(np.array([correlation]), table).tolist() == [row]


def test_without_calls_nothing_is_linked() -> None:
    """Nor does it fail."""
    table = host(start=[0], end=[1], kind=[OPERATOR], correlation=[-1])
    assert launches(np.array([-1, 3]), table).tolist() == [-1, -1]


def test_numbers_too_large_for_a_narrow_column_stay_the_largest() -> None:
    """A device of 2**40 is nonsense, and not device 0."""
    fields = tuple(field for field in GpuTable.__struct_fields__ if field != "launch")
    table = gpu_table(rows(fields, start=[1], end=[2], device=[1 << 40]), np.array([0]))
    assert table.device.tolist() == [2**31 - 1]
