"""Too few warps, and what limits them."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import low_occupancy
from tests.profiles.rules.profiles import cures, evidence, find, found, made, missing

MOST = "sm__maximum_warps_per_active_cycle_pct"
LIMIT = "launch__occupancy_limit_{}"
WAITS = {"wait": 0.5, "short_scoreboard": 0.5}


@pytest.mark.parametrize(
    ("resource", "words", "cure"),
    [
        ("registers", "registers", "fewer-registers"),
        ("shared_mem", "shared memory", "less-shared"),
        ("warps", "the size of a CTA", "block-size"),
        ("blocks", "the size of a CTA: an SM holds no more of such small ones", "block-size"),
    ],
)
def test_the_limit_is_named(resource: str, words: str, cure: str) -> None:
    """The resource that fits fewest CTAs is the limit, and says what to do."""
    profile = made({MOST: 12.5, LIMIT.format(resource): 1.0}, WAITS)
    cause = found(low_occupancy, profile)
    assert evidence(cause, f"of an SM's warps at most, limited by {words}") == 0.125
    assert cures(low_occupancy, profile) == (cure, "more-ilp")


def test_a_grid_of_less_than_a_wave_limits_the_warps() -> None:
    """132 CTAs on 132 SMs that hold eight each: an eighth of the warps."""
    profile = made(stalls=WAITS, grid=(132, 1, 1))
    cause = found(low_occupancy, profile)
    assert "limited by the grid" in cause.claim
    assert evidence(cause, "of an SM's warps at most, limited by the grid") == 0.125
    assert cures(low_occupancy, profile)[0] == "more-ctas"


def test_the_share_is_what_more_warps_would_hide() -> None:
    """Idle for 80% of cycles; half of it barriers, which more warps do not hide."""
    stalls = {"wait": 0.5, "barrier": 0.5}
    assert found(low_occupancy, made({MOST: 12.5}, stalls)).share == pytest.approx(0.4)


def test_no_more_is_won_than_warps_are_missing() -> None:
    """At 75% of the warps, at most a quarter of the time."""
    assert found(low_occupancy, made({MOST: 75.0}, WAITS)).share == pytest.approx(0.25)


def test_full_occupancy_is_no_finding() -> None:
    """All warps fit, and the grid brings them."""
    assert find(low_occupancy, made(stalls=WAITS)) is None


def test_occupancy_follows_from_the_limits_where_it_is_not_given() -> None:
    """Two CTAs of eight warps fit, of the 64 that four schedulers of 16 hold."""
    counters = {
        MOST: None,
        LIMIT.format("registers"): 2.0,
        "smsp__warps_active.avg.peak_sustained": 16.0,
    }
    cause = found(low_occupancy, made(counters, WAITS))
    assert evidence(cause, "of an SM's warps at most, limited by registers") == 0.25


def test_what_is_missing_is_named() -> None:
    """Without any limit nothing is known of occupancy."""
    limits = {LIMIT.format(name): None for name in ("registers", "shared_mem", "warps", "blocks")}
    assert missing(low_occupancy, made(limits, WAITS)) == LIMIT.format("registers")


def test_a_grid_of_a_whole_wave_is_not_the_limit() -> None:
    """Eight CTAs for each of 132 SMs that hold eight: the registers limit them."""
    assert "limited by registers" in found(low_occupancy, made({MOST: 50.0}, WAITS)).claim
