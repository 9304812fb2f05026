"""What probes reckon from what the kernels report."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.gpu.probes.dispatch import refill_gap
from tailwave.gpu.probes.fabric import spread
from tailwave.gpu.probes.issue import median_of_full
from tailwave.gpu.probes.l2 import line_sides
from tailwave.gpu.probes.traffic import Flow
from tailwave.model import Floats


def flow() -> Flow:
    """Two SMs, of which the second began later and took twice as long for the same amount."""
    return Flow(
        amount=np.array([1_000, 1_000]),
        start=np.array([100, 125]),
        end=np.array([150, 225]),
        cycles=np.array([100, 200]),
    )


def test_rate_counts_until_the_last_has_finished() -> None:
    """What was moved, over the time from the first start to the last end."""
    assert flow().rate == 16.0


def test_per_clock_is_each_sm_by_its_own_clock() -> None:
    """The mean of bytes over cycles."""
    assert flow().per_clock == 7.5


def test_fairness_is_slowest_over_fastest() -> None:
    """An SM at half the rate of another is half as well served."""
    assert flow().fairness == 0.5


def test_spread_takes_from_all_groups_by_turns() -> None:
    """As many SMs as asked for, and no group more than one ahead of another."""
    gpcs = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))
    assert spread(gpcs, 4) == (0, 2, 4, 8)


def test_refill_gaps_are_within_an_sm() -> None:
    """A gap runs from an end to the next start on the same SM, in whatever order CTAs came."""
    sms = np.array([1, 0, 0, 1])
    starts = np.array([0, 50, 0, 130])
    ends = np.array([100, 90, 40, 200])
    assert refill_gap(sms, starts, ends) == 20.0


def near_and_far(difference: float) -> Floats:
    """Make latencies of 12 SMs to 64 lines, both alternating between the sides of L2."""
    rng = np.random.default_rng(5)
    sm, line = np.arange(12)[:, None] % 2, np.arange(64)[None, :] % 2
    offsets = rng.normal(0, 5, (12, 1)) + rng.normal(0, 3, (1, 64))
    noise = rng.normal(0, 1, (12, 64))
    return np.asarray(300 + offsets + difference * (sm != line) + noise, dtype=np.float64)


def test_lines_of_two_partitions_are_told_apart() -> None:
    """Every line is on the side of the SMs that are near to it."""
    sides = line_sides(near_and_far(difference=30.0))
    assert sides is not None
    assert len(set(sides[::2])) == len(set(sides[1::2])) == 1
    assert sides[0] != sides[1]


def test_an_even_l2_has_no_sides() -> None:
    """Latencies without near and far lines are not cut in two."""
    assert line_sides(near_and_far(difference=0.0)) is None


@pytest.mark.parametrize("difference", [0.2, 0.4])
def test_what_noise_hides_is_not_named(difference: float) -> None:
    """A difference below the noise names no partition."""
    assert line_sides(near_and_far(difference)) is None


def test_ctas_of_an_sm_are_timed_together() -> None:
    """Two CTAs that took turns took as long as from the first start to the last end."""
    sms, starts, ends = np.array([[0, 0, 1], [100, 600, 100], [600, 1_100, 400]])
    assert median_of_full(sms, starts, ends, ctas=2) == 1_000
