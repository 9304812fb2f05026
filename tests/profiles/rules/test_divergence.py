"""Warps that run with part of their lanes."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import divergence
from tests.profiles.rules.profiles import cures, find, found, made, missing

LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
STALLS = {"selected": 0.3, "wait": 0.3, "long_scoreboard": 0.4}


def test_idle_lanes_for_as_long_as_warps_ran() -> None:
    """A quarter of the lanes, in the 60% of the time in which no warp waited for memory."""
    profile = made({LANES: 8.0}, STALLS)
    cause = found(divergence, profile)
    assert cause.share == pytest.approx(0.75 * 0.6)
    assert "8 of 32 lanes" in cause.claim
    assert "block-size" not in cures(divergence, profile)


def test_a_block_that_is_no_multiple_of_a_warp_is_named() -> None:
    """16 threads leave half of the warp idle in any instruction: the cure is the block."""
    profile = made({LANES: 16.0}, STALLS, block=(16, 1, 1))
    assert cures(divergence, profile)[0] == "block-size"


def test_full_warps_are_no_finding() -> None:
    """All 32 lanes."""
    assert find(divergence, made(stalls=STALLS)) is None


def test_what_is_missing_is_named() -> None:
    """The lanes, or the stalls."""
    assert missing(divergence, made({LANES: None}, STALLS)) == LANES
    assert "stalled_selected" in missing(divergence, made({LANES: 8.0}))


def test_a_block_of_more_than_a_warp_may_be_no_multiple_of_it() -> None:
    """48 threads: every second warp is half empty."""
    profile = made({LANES: 24.0}, STALLS, block=(48, 1, 1))
    assert cures(divergence, profile)[0] == "block-size"


@pytest.mark.parametrize("lanes", [0.0, -1.0])
def test_an_instruction_without_a_lane_is_not_counted(lanes: float) -> None:
    """Damaged counters are missing ones."""
    assert missing(divergence, made({LANES: lanes}, STALLS)) == LANES
