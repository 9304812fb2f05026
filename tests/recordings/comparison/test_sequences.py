"""What two sequences have in common, in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tailwave.recordings.comparison.sequences import align, common

KEYS = st.lists(st.integers(min_value=-1, max_value=3), max_size=30)


def keys(*numbers: int) -> np.ndarray:
    """Make the keys of a sequence."""
    return np.array(numbers, dtype=np.int64)


def longest(old: list[int], new: list[int]) -> int:
    """Return the length of a longest common subsequence, by the textbook's table."""
    row = [0] * (len(new) + 1)
    for one in old:
        before = row
        row = [0]
        for place, other in enumerate(new, start=1):
            same = before[place - 1] + 1 if one == other >= 0 else 0
            row.append(max(same, before[place], row[-1]))
    return row[-1]


@given(KEYS, KEYS)
def test_it_is_the_longest(old: list[int], new: list[int]) -> None:
    """As many pairs as the textbook finds, of equal keys, in the order of both."""
    pairs = common(keys(*old), keys(*new))
    assert len(pairs) == longest(old, new)
    assert all(old[one] == new[other] >= 0 for one, other in pairs)
    assert [*zip(*pairs, strict=True)] == [
        tuple(sorted({*side})) for side in zip(*pairs, strict=True)
    ]


def test_what_is_between_sure_pairs_is_paired_by_the_next_keys() -> None:
    """First by the first keys, in the gaps by the others; a key below 0 is like no other."""
    names = keys(1, 2, 3, 4), keys(1, 5, 3, 6)
    operators = keys(7, 8, 7, -1), keys(7, 8, 7, -1)
    kinds = keys(0, 0, 0, 0), keys(0, 0, 0, 0)
    assert [*align([names, operators, kinds])] == [(0, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 2)]


def test_by_place_only_what_has_as_many_of_a_kind() -> None:
    """Two kernels in the place of one, or a copy in that of a kernel, are not the same thing."""
    for new, kinds in ((keys(1, 5, 6, 3), (0, 0, 0, 0)), (keys(1, 5, 3), (0, 1, 0))):
        names = keys(1, 2, 3), new
        pairs = [*align([names, (keys(0, 0, 0), keys(*kinds))])]
        assert [level for *_, level in pairs] == [0, 0]
