"""SMs that work longer than the others."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import sm_imbalance
from tests.profiles.rules.profiles import find, found, made, missing

MEAN, MOST = "sm__cycles_active.avg", "sm__cycles_active.max"


def test_the_busiest_sm_against_the_mean() -> None:
    """SMs work half of the time on average, and the grid divides by them."""
    cause = found(sm_imbalance, made({MEAN: 50_000.0}))
    assert cause.share == pytest.approx(0.5)
    assert "2 times as long as the average one" in cause.claim


def test_what_the_grid_explains_is_no_imbalance() -> None:
    """133 CTAs on 132 SMs leave them idle for half of the time: that is a tail."""
    assert find(sm_imbalance, made({MEAN: 51_000.0}, grid=(133, 1, 1))) is None
    assert find(sm_imbalance, made({MEAN: 50_000.0}, grid=(66, 1, 1))) is None


def test_time_in_which_nothing_runs_is_not_counted() -> None:
    """A kernel so short that it mostly starts and ends: all SMs work equally little."""
    assert find(sm_imbalance, made({MEAN: 20_000.0, MOST: 20_000.0})) is None


def test_a_difference_of_one_access_to_memory_is_no_imbalance() -> None:
    """300 cycles are where an SM stands and what its caches held; one more is work."""
    counters = {MEAN: 700.0, "sm__cycles_elapsed.max": 2_000.0}
    assert find(sm_imbalance, made(counters | {MOST: 1_000.0})) is None
    assert find(sm_imbalance, made(counters | {MOST: 1_001.0})) is not None


def test_a_mean_without_a_maximum_does_not_answer() -> None:
    """Older reports have no maximum over SMs."""
    assert missing(sm_imbalance, made({MOST: None})) == MOST


def test_passes_that_differ_make_no_more_than_the_whole() -> None:
    """Counters of several passes: an SM that worked longer than the kernel of another pass took."""
    cause = found(sm_imbalance, made({MEAN: 55_000.0, MOST: 110_000.0}))
    assert cause.share == pytest.approx(0.5)
