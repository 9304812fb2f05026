"""Arithmetic on half-open time intervals held as numpy columns (integers, ns)."""

from __future__ import annotations

import numpy as np

from tailwave.model import Ints


def union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Merge intervals that touch or overlap; ``start`` must be sorted.

    Returns the starts and ends of the disjoint intervals, sorted.
    """
    if len(start) == 0:
        return start, end
    reach = np.maximum.accumulate(end)
    opens = np.empty(len(start), dtype=bool)
    opens[0] = True
    opens[1:] = start[1:] > reach[:-1]
    first = np.flatnonzero(opens)
    last = np.append(first[1:] - 1, len(start) - 1)
    return start[first], reach[last]


def union_of(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Merge intervals in any order."""
    order = np.argsort(start, kind="stable")
    return union(start[order], end[order])


def covered_by_group(start: Ints, end: Ints, group: Ints, groups: int) -> Ints:
    """Time that the intervals of each group cover, overlaps counted once; in any order."""
    total = np.zeros(groups, dtype=np.int64)
    if len(start):
        # Set the groups side by side, a moment apart, so that one union does for all.
        room = int(end.max() - start.min()) + 1
        shift = group * room - start.min()
        low, high = union_of(start + shift, end + shift)
        np.add.at(total, low // room, high - low)
    return total


def covered(start: Ints, end: Ints, at: Ints) -> Ints:
    """Total covered time before each moment of ``at``; the intervals must be disjoint, sorted.

    ``covered(s, e, b) - covered(s, e, a)`` is then the time covered within ``[a, b)``.
    """
    if len(start) == 0:
        return np.zeros(len(at), dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(end - start)])
    index = np.searchsorted(start, at, side="right")
    overshoot = np.where(index > 0, end[np.maximum(index - 1, 0)] - at, 0)
    return np.asarray(before[index] - np.maximum(overshoot, 0), dtype=np.int64)


def overlap(start: Ints, end: Ints, low: Ints, high: Ints) -> Ints:
    """Time that disjoint, sorted intervals cover within each window ``[low, high)``."""
    return covered(start, end, high) - covered(start, end, low)
