"""CTAs that do not divide by the SMs."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import wave_tail
from tests.profiles.rules.profiles import evidence, find, found, made, missing

MEAN = "sm__cycles_active.avg"


def test_one_cta_too_many_costs_half() -> None:
    """133 CTAs on 132 SMs: seen idle for half of the time, and explained for 131 of 264 parts."""
    cause = found(wave_tail, made({MEAN: 50_000.0}, grid=(133, 1, 1)))
    assert cause.share == pytest.approx(1 - 133 / 264)
    assert evidence(cause, "in the grid") == 133
    assert "132 SMs: 1 SM runs one more than the others" in cause.claim


def test_no_more_than_sms_were_seen_idle() -> None:
    """The others' CTAs were longer: SMs idled for a tenth only."""
    assert found(wave_tail, made({MEAN: 90_000.0}, grid=(133, 1, 1))).share == pytest.approx(0.1)


@pytest.mark.parametrize("busiest", [100_000.0, None])
@pytest.mark.parametrize("grid", [132, 1320, 66])
def test_whole_shares_and_small_grids_have_no_tail(grid: int, busiest: float | None) -> None:
    """A multiple of the SMs, or fewer CTAs than SMs, which is another finding: the grid tells."""
    counters = {MEAN: 50_000.0, "sm__cycles_active.max": busiest}
    assert find(wave_tail, made(counters, grid=(grid, 1, 1))) is None


def test_the_devices_sms_stand_in_for_the_launchs() -> None:
    """A file without the launch's SMs is asked for the device's."""
    profile = made({"launch__sm_count": None, MEAN: 50_000.0}, grid=(133, 1, 1))
    assert evidence(found(wave_tail, profile), "to run them") == 132


def test_a_green_context_has_fewer_sms_than_its_device() -> None:
    """There the device's count says nothing."""
    profile = made({"launch__sm_count": None, "launch__uses_green_context": 1.0})
    assert missing(wave_tail, profile) == "launch__sm_count"
