"""Warps that wait at barriers."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import barrier_stall
from tests.profiles.rules.profiles import find, found, made, missing

THROUGHPUT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
STALLS = {"barrier": 0.4, "wait": 0.4, "selected": 0.1, "not_selected": 0.1}


def test_idle_cycles_are_divided_as_stalls_are() -> None:
    """Idle for 80% of cycles, half of what stalls is barriers: 40%."""
    assert found(barrier_stall, made(stalls=STALLS)).share == pytest.approx(0.4)


def test_idle_sms_have_no_barriers() -> None:
    """What an SM does not work, it does not wait at barriers."""
    profile = made({"sm__cycles_active.avg": 50_000.0}, STALLS)
    assert found(barrier_stall, profile).share == pytest.approx(0.2)


@pytest.mark.parametrize(("busy", "share"), [(56.0, 0.3), (80.0, 0.0), (95.0, 0.0)])
def test_no_more_is_won_than_the_busiest_unit_leaves(busy: float, share: float) -> None:
    """At 56% of its peak a unit has 30% of the time until 80%; at 80% it has none."""
    assert found(barrier_stall, made({THROUGHPUT: busy}, STALLS)).share == pytest.approx(share)


def test_a_kernel_without_barriers_has_no_such_stall() -> None:
    """No share, no finding."""
    assert find(barrier_stall, made(stalls={"barrier": 0.0, "wait": 1.0})) is None


def test_what_is_missing_is_named() -> None:
    """Stalls, or the issue rate."""
    assert "stalled_barrier" in missing(barrier_stall, made())
    without = made({"smsp__issue_active.avg.per_cycle_active": None}, STALLS)
    assert missing(barrier_stall, without) == "smsp__issue_active.avg.per_cycle_active"


def test_the_issue_rate_in_percent_does_as_well() -> None:
    """Details pages give it in percent."""
    counters = {
        "smsp__issue_active.avg.per_cycle_active": None,
        "smsp__issue_active.avg.pct_of_peak_sustained_active": 20.0,
    }
    assert found(barrier_stall, made(counters, STALLS)).share == pytest.approx(0.4)


def test_sms_that_worked_longer_than_the_kernel_took() -> None:
    """Of another pass: they worked all of the time, and no more is lost."""
    profile = made({"sm__cycles_active.avg": 120_000.0}, STALLS)
    assert found(barrier_stall, profile).share == found(barrier_stall, made(stalls=STALLS)).share
