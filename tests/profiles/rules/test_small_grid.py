"""Fewer CTAs than SMs."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import small_grid
from tests.profiles.rules.profiles import evidence, find, found, made, missing

MOST, MEAN = "sm__cycles_active.max", "sm__cycles_active.avg"


def test_sms_without_a_cta_for_as_long_as_others_work() -> None:
    """33 of 132 SMs have one, and work for 80% of the kernel."""
    cause = found(small_grid, made({MOST: 80_000.0}, grid=(33, 1, 1)))
    assert cause.share == pytest.approx(0.75 * 0.8)
    assert evidence(cause, "without a CTA") == 99


@pytest.mark.parametrize("grid", [(132, 1, 1), (12, 11, 1), (1320, 1, 1)])
def test_a_cta_for_every_sm_is_enough(grid: tuple[int, int, int]) -> None:
    """At the edge and above, counted over all dimensions."""
    assert find(small_grid, made(grid=grid)) is None


def test_what_is_missing_is_named() -> None:
    """How long the busiest SM worked, or the average one."""
    assert missing(small_grid, made({MOST: None, MEAN: None}, grid=(33, 1, 1))) == MOST


def test_without_the_busiest_sm_those_with_a_cta_count_by_their_mean() -> None:
    """33 of 132 SMs work, 20% of the kernel on average of all: 80% each."""
    profile = made({MOST: None, MEAN: 20_000.0}, grid=(33, 1, 1))
    assert found(small_grid, profile).share == pytest.approx(0.75 * 0.8)


@pytest.mark.parametrize(
    ("ctas", "words"),
    [
        (1, "1 CTA runs on 132 SMs, so 131 SMs have nothing to do"),
        (131, "131 CTAs run on 132 SMs, so 1 SM has nothing to do"),
    ],
)
def test_one_is_worded_as_one(ctas: int, words: str) -> None:
    """Of CTAs and of SMs."""
    assert found(small_grid, made(grid=(ctas, 1, 1))).claim.startswith(words)
