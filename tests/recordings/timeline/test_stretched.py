"""Which pieces of host work take longer than the same pieces elsewhere."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.recordings.timeline.stretched import (
    at_every_place,
    is_stretched,
    lower_quartile,
    runs_python,
)
from tests.builders import Trace, kernel

US = 1_000


def stretched(steps: list[list[int]], piece: list[int] | None = None) -> list[int]:
    """Index of the stretched of some steps' pieces, given by their lengths (us)."""
    lengths = np.array([length for step in steps for length in step]) * US
    pieces = np.array((piece or [0] * len(steps[0])) * len(steps))
    start = np.cumsum(lengths) - lengths
    begins = start[:: len(steps[0])]
    return np.flatnonzero(is_stretched(pieces, start, lengths, begins)).tolist()


def test_ten_times_the_usual_time_is_stretched() -> None:
    """And a fifth of a millisecond more."""
    assert stretched([[5, 5, 5, 300], [5, 5, 5, 5]]) == [3]
    assert stretched([[5, 5, 5, 204], [5, 5, 5, 5]]) == []
    assert stretched([[50, 50, 50, 490], [50, 50, 50, 50]]) == []


def test_other_pieces_are_no_measure() -> None:
    """A long piece is compared with its own kind."""
    assert stretched([[5, 5, 5, 300]] * 2, [0, 0, 0, 1]) == []


@pytest.mark.parametrize(("slow", "of", "found"), [(1, 3, 1), (2, 3, 0), (3, 15, 3), (4, 15, 0)])
def test_what_is_long_in_a_quarter_of_the_steps_is_long_by_nature(
    slow: int, of: int, found: int
) -> None:
    """At the same place; in two steps at least."""
    steps = [[5, 5, 3000 if number < slow else 5, 5, 5, 5, 5, 5] for number in range(of)]
    assert len(stretched(steps)) == found


def test_long_pauses_at_most_kinds_of_places_are_everywhere() -> None:
    """Those of an input pipeline are at one."""
    kind = np.tile(np.arange(4), 10)
    length = np.where(np.arange(40) % 3 == 0, 5000, 5)
    assert at_every_place(kind, length > 500, length, 1)
    assert not at_every_place(kind, (kind == 0), np.where(kind == 0, 5000, 5), 1)
    assert not at_every_place(kind, length > 500, length, 10)  # few a step
    even = np.full(40, 5000)
    assert not at_every_place(kind, even > 500, even, 1)  # a program of long pauses


def test_the_lower_quartile_of_each_group() -> None:
    """Of one it is itself, of two the shorter."""
    group, length = np.array([0, 1, 1, 2, 2, 2, 2]), np.array([9, 5, 3, 4, 1, 2, 3])
    assert lower_quartile(group, length).tolist() == [9, 3, 3, 2, 2, 2, 2]


def test_python_is_recognised_by_what_it_leaves() -> None:
    """Recorders of frameworks record Python; nsys records anything."""
    plain = Trace().launch(0, 5, kernel("k", 6, 9)).build()
    assert runs_python(plain)
    plain = msgspec.structs.replace(plain, kind="nsys")
    assert not runs_python(plain)
    named = msgspec.structs.replace(plain.threads[0], name="python3")
    assert runs_python(msgspec.structs.replace(plain, threads=(named,)))
    for trace in (Trace().op("aten::mm", 0, 9), Trace().frame("train.py(3): main", 0, 9)):
        assert runs_python(msgspec.structs.replace(trace.build(), kind="nsys"))
