"""Whom the ranks of a run wait for in their collectives (times in us)."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.timeline.ranks import RankWaits, rank_waits
from tests.builders import Trace, kernel

REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL"


def rank(number: int, *begins: float, ends: float = 900, name: str = REDUCE) -> Timeline:
    """Record a rank that enters a collective of each millisecond at these moments."""
    trace = Trace(rank=number)
    for index, begin in enumerate(begins):
        trace.at(index * 1000).launch(0, 5, kernel("gemm", 10, 100))
        trace.launch(begin - 5, begin, kernel(name, begin, ends))
    return trace.build()


def waits(*timelines: Timeline) -> RankWaits:
    """Pair the collectives of ranks that have some."""
    found = rank_waits(timelines)
    assert found is not None
    return found


def test_the_early_rank_waits_for_the_late_one() -> None:
    """A collective's time before the last rank's beginning is waiting, on all the others."""
    found = waits(rank(0, 200, 200), rank(1, 600, 600), rank(2, 500, 500))
    assert found.waited.tolist() == [[400_000] * 2, [0] * 2, [100_000] * 2]
    assert found.last.tolist() == [1, 1]
    assert (found.late, found.late_ns(1), found.late_ns(0)) == (1, (2, 400_000.0), (0, 0.0))


def test_clocks_of_different_hosts_are_aligned() -> None:
    """A rank whose clock is 50 ms ahead has entered as late as its collective's end says."""
    ahead = Trace(rank=1)
    for begin in (50_600.0, 51_600.0):
        ahead.launch(begin - 5, begin, kernel(REDUCE, begin, begin + 300))
    found = waits(rank(0, 200, 200), ahead.build())
    assert found.waited.tolist() == [[400_000] * 2, [0] * 2]


def test_recordings_that_begin_at_different_moments() -> None:
    """Collectives are paired from the end: the longer recording's first has no partner."""
    found = waits(rank(0, 200, 200, 200), rank(1, 600, 600))
    assert found.rows.shape == (2, 2)
    assert found.rows[0].tolist() == [3, 5]


def test_launches_and_clocks_scatter() -> None:
    """A rank that begins 100 us after the others, or less, is not late."""
    assert waits(rank(0, 200), rank(1, 300)).late_ns(1) == (0, 0.0)
    assert waits(rank(0, 200), rank(1, 301)).late_ns(1) == (1, 101_000.0)


@pytest.mark.parametrize(
    "timelines",
    [
        (rank(0, 200),),
        (rank(0, 200), Trace(rank=1).launch(0, 5, kernel("gemm", 10, 100)).build()),
        (rank(0, 200), rank(1, 600, name=GATHER)),
    ],
    ids=["one rank", "a rank without collectives", "another collective"],
)
def test_nothing_to_pair(timelines: tuple[Timeline, ...]) -> None:
    """One rank waits for nobody; what is not of one sequence is not compared."""
    assert rank_waits(timelines) is None
