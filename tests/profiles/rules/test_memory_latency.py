"""Warps that wait for loads."""

from __future__ import annotations

import pytest

from tailwave.profiles.rules import memory_latency
from tests.profiles.rules.profiles import find, found, made, missing

DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
STALLS = {"long_scoreboard": 0.75, "wait": 0.25}
TOUCHED = "memory_l2_theoretical_sectors_global"


def test_idle_cycles_for_loads() -> None:
    """Idle for 80% of cycles, three quarters of that for loads: 60%."""
    assert found(memory_latency, made(stalls=STALLS)).share == pytest.approx(0.6)


@pytest.mark.parametrize(("busy", "share"), [(60.0, 0.25), (79.0, 0.0125), (80.0, 0.0)])
def test_a_kernel_that_streams_is_not_slow_for_waiting(busy: float, share: float) -> None:
    """DRAM at 60% leaves a quarter until 80%; at 80% the bandwidth is the bound."""
    assert found(memory_latency, made({DRAM: busy}, STALLS)).share == pytest.approx(share)


def test_scattered_sectors_do_not_count_as_bandwidth() -> None:
    """The L2 is full, but with eight times the sectors that the loads need: the wait counts."""
    scattered = made({L2: 96.0, TOUCHED: 800.0, f"{TOUCHED}_ideal": 100.0}, STALLS)
    cause = found(memory_latency, scattered)
    assert cause.share == pytest.approx(0.6)
    assert "scattered sectors" in cause.claim
    assert found(memory_latency, made({L2: 96.0}, STALLS)).share == 0


def test_a_kernel_that_never_waits_for_loads() -> None:
    """No share, no finding."""
    assert find(memory_latency, made(stalls={"long_scoreboard": 0.0})) is None


def test_what_is_missing_is_named() -> None:
    """The L2's throughput is needed to tell waiting from streaming."""
    assert missing(memory_latency, made({L2: None}, STALLS)) == L2


def test_one_slice_full_of_atomics_is_a_bound() -> None:
    """More loads in flight do not help where one slice is at its peak."""
    atomics = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
    assert found(memory_latency, made({atomics: 80.0}, STALLS)).share == 0


def test_a_full_l2_without_scattered_sectors_is_not_blamed_on_them() -> None:
    """All sectors that are touched are needed."""
    coalesced = made({L2: 96.0, TOUCHED: 800.0, f"{TOUCHED}_ideal": 800.0}, STALLS)
    assert "scattered" not in found(memory_latency, coalesced).claim


def test_a_full_queue_leaves_it_open_whether_atomics_contend() -> None:
    """Warps wait as long for the queue as for loads: enough is in flight, so it isn't latency."""
    atomics = "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed"
    queue = {"long_scoreboard": 0.4, "lg_throttle": 0.4}
    assert missing(memory_latency, made(stalls=queue)) == atomics
    assert found(memory_latency, made({atomics: 0.0}, queue)).share > 0
    shorter = found(memory_latency, made(stalls={**queue, "lg_throttle": 0.39}))
    assert shorter.claim.endswith("Atomics, which were not counted, wait in the same way.")
