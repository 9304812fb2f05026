"""Interval arithmetic, against counting moments one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import Ints
from tailwave.recordings.timeline.intervals import (
    covered,
    covered_by_group,
    overlap,
    union,
    union_of,
)

LAST = 30
moments = st.integers(0, LAST)
spans = st.lists(st.tuples(moments, moments).map(lambda pair: (min(pair), max(pair))), max_size=8)
windows = st.tuples(moments, moments).map(lambda pair: (min(pair), max(pair)))


def columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Hold spans as the two columns that the functions take."""
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def points(pairs: list[tuple[int, int]]) -> set[int]:
    """List the moments that half-open spans hold."""
    return {moment for low, high in pairs for moment in range(low, high)}


def pairs_of(start: Ints, end: Ints) -> list[tuple[int, int]]:
    """Give columns back as spans."""
    return list(zip(start.tolist(), end.tolist(), strict=True))


@given(spans)
def test_a_union_holds_the_same_moments(given_spans: list[tuple[int, int]]) -> None:
    """A union covers what its spans cover, and nothing else."""
    assert points(pairs_of(*union_of(*columns(given_spans)))) == points(given_spans)


@given(spans)
def test_a_union_is_disjoint_and_sorted(given_spans: list[tuple[int, int]]) -> None:
    """The spans of a union do not even touch: what touches is one span."""
    start, end = union(*columns(sorted(given_spans)))
    assert (end[:-1] < start[1:]).all()


@given(spans, moments)
def test_covered_counts_the_moments_before(given_spans: list[tuple[int, int]], at: int) -> None:
    """The covered time before a moment is the number of covered moments before it."""
    found = covered(*union_of(*columns(given_spans)), np.array([at]))
    assert found.tolist() == [len([m for m in points(given_spans) if m < at])]


@given(spans, windows)
def test_overlap_counts_the_moments_within(
    given_spans: list[tuple[int, int]], window: tuple[int, int]
) -> None:
    """The overlap with a window is the number of covered moments in it."""
    low, high = (np.array([bound]) for bound in window)
    found = overlap(*union_of(*columns(given_spans)), low, high)
    assert found.tolist() == [len(points(given_spans) & points([window]))]


@given(st.lists(spans, min_size=1, max_size=4))
def test_each_group_covers_its_own_moments(groups: list[list[tuple[int, int]]]) -> None:
    """The covered time of a group is that of its own intervals, whatever the others cover."""
    start, end = columns([span for group in groups for span in group])
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found = covered_by_group(start, end, owner, len(groups))
    assert found.tolist() == [len(points(group)) for group in groups]


def test_nothing_is_covered_by_no_spans() -> None:
    """Without spans, nothing is covered."""
    start, end = columns([])
    assert pairs_of(*union(start, end)) == []
    assert overlap(start, end, np.array([0]), np.array([9])).tolist() == [0]
