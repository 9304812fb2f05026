"""What two sequences have in common, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from tailwave.model import Ints

# For each of two sequences a key of every item; below 0 are those that are like no other.
Keys: TypeAlias = tuple[Ints, Ints]
_Span: TypeAlias = tuple[int, int]


def align(levels: Sequence[Keys]) -> Iterator[tuple[int, int, int]]:
    """Pair the items of two sequences, in order: first by the surest keys, then between those.

    Yields the places in both, and the level by which they were paired. The keys of the last level
    must hold one by one, in stretches of equal length that all other levels left unpaired.
    """
    (old, new), *_ = levels
    return _aligned(levels, 0, (0, len(old)), (0, len(new)))


def _aligned(
    levels: Sequence[Keys], level: int, old: _Span, new: _Span
) -> Iterator[tuple[int, int, int]]:
    (low, high), (begin, end) = old, new
    if low == high or begin == end:
        return
    ours, theirs = levels[level][0][low:high], levels[level][1][begin:end]
    if level == len(levels) - 1:
        if len(ours) == len(theirs) and (ours == theirs).all():
            yield from zip(range(low, high), range(begin, end), [level] * len(ours), strict=True)
        return
    for one, other in (*common(ours, theirs), (high - low, end - begin)):
        # The last of these is no pair, but the end of both.
        left, right = one + old[0], other + new[0]
        yield from _aligned(levels, level + 1, (low, left), (begin, right))
        if left < high:
            yield left, right, level
        low, begin = left + 1, right + 1


def common(old: Ints, new: Ints) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence of two sequences of keys.

    The table of the textbook's algorithm is kept as bits, a row in one whole number (Hyyro, "Bit-
    parallel LCS-length computation revisited", 2004): 20,000 items against 20,000 take 50 MB.
    """
    least = min(len(old), len(new))
    apart = np.flatnonzero((old[:least] != new[:least]) | (old[:least] < 0))
    same = int(apart[0]) if len(apart) else least
    begun = [(place, place) for place in range(same)]
    found = _traced(old[same:].tolist(), new[same:].tolist())
    return begun + [(one + same, other + same) for one, other in found]


def _traced(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    places: dict[int, int] = {}
    for place, key in enumerate(old):
        places[key] = places.get(key, 0) | 1 << place
    everything = (1 << len(old)) - 1
    row, rows = everything, []
    for key in new:
        alike = row & places.get(key, 0) if key >= 0 else 0
        row = (row + alike | row - alike) & everything
        rows.append(row)
    # A zero says that the item lengthens what the two have in common up to here.
    pairs = []
    one, other = len(old), len(new)
    while one and other:
        if rows[other - 1] >> one - 1 & 1:
            one -= 1
        elif other > 1 and not rows[other - 2] >> one - 1 & 1:
            other -= 1
        else:
            one, other = one - 1, other - 1
            pairs.append((one, other))
    return pairs[::-1]
