"""What is asked of all streams at once, against asking one row after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailwave.recordings.timeline.streams import (
    Lines,
    begins_run,
    last_above,
    numbered,
    reach_before,
)

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=30)
QUERIES = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 21)), max_size=10)


def columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Give pairs as two columns."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(ROWS)
def test_combinations_are_numbered_as_they_sort(rows: list[tuple[int, int]]) -> None:
    """Equal rows get one number, and a smaller row a smaller one."""
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    assert numbered(*columns(rows)).tolist() == [places[row] for row in rows]


@given(ROWS)
def test_a_run_begins_where_a_row_differs(rows: list[tuple[int, int]]) -> None:
    """From the one before it; the first row always begins one."""
    expected = [n == 0 or row != rows[n - 1] for n, row in enumerate(rows)]
    assert begins_run(*columns(rows)).tolist() == expected


@given(ROWS)
def test_what_ran_before_in_a_stream_reaches_to_its_latest_end(rows: list[tuple[int, int]]) -> None:
    """The first row of a stream has nothing before it."""
    stream, end = columns(rows)
    expected = [
        max((e for s, e in rows[:n] if s == own), default=-7) for n, (own, _) in enumerate(rows)
    ]
    assert reach_before(numbered(stream), end, -7).tolist() == expected


@given(ROWS, QUERIES)
def test_rows_of_a_line_are_found_by_time(
    rows: list[tuple[int, int]], queries: list[tuple[int, int]]
) -> None:
    """The first after a moment, and the last until it; rows of one moment in their order."""
    lines, (asked, at) = Lines(*columns(rows)), columns(queries)
    ordered = sorted(range(len(rows)), key=lambda n: rows[n][1])
    after = [[n for n in ordered if rows[n][0] == line and rows[n][1] > m] for line, m in queries]
    until = [[n for n in ordered if rows[n][0] == line and rows[n][1] <= m] for line, m in queries]
    assert lines.first_after(asked, at).tolist() == [found[0] if found else -1 for found in after]
    assert lines.last_until(asked, at).tolist() == [found[-1] if found else -1 for found in until]


@given(st.lists(st.integers(0, 20), max_size=40), QUERIES)
def test_the_last_value_above_a_floor_is_found(
    values: list[int], queries: list[tuple[int, int]]
) -> None:
    """Looking back from any place."""
    asked = [(min(max(before, 0) * 9, len(values)), floor) for before, floor in queries]
    expected = [
        max((n for n in range(before) if values[n] > floor), default=-1) for before, floor in asked
    ]
    assert last_above(np.array(values, dtype=np.int64), *columns(asked)).tolist() == expected
