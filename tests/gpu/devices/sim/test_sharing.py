"""Kernels in which SMs meet at a line."""

from __future__ import annotations

import numpy as np
import pytest

from tailwave.gpu.devices.sim.kernels.sharing import atomic_rates, poll_ns
from tests.gpu.devices.sim.rig import CHIP, SMS, Rig

RATES = CHIP.atomics


@pytest.mark.parametrize(("stride", "expected"), [(0, 43.2e9), (32, 291e9), (4096, 979e9)])
def test_atomics_go_at_the_measured_rates(stride: int, expected: float) -> None:
    """All SMs on one address, four to a line, each on its own page; thread-operations a second."""
    rig = Rig()
    out, data = rig.buffer(4 * SMS), rig.buffer(1 << 17)
    words = rig.everywhere("atomics", 256, out, data, stride, 1000, rig.select(range(SMS)))
    rows = words.reshape(SMS, 4).astype(np.float64)
    assert set(rows[:, 0].tolist()) == {256 * 1000}
    rate = rows[:, 0].sum() / (rows[:, 3].max() / CHIP.clock.mhz * 1e-6)
    assert rate == pytest.approx(expected, rel=0.02)


def test_an_sm_alone_on_a_line_goes_at_its_own_rate() -> None:
    """Others that are not selected take nothing from it, and have no rate."""
    active = np.isin(np.arange(SMS), (0, 64))
    rates = atomic_rates(CHIP, active, 32)
    assert rates[active].tolist() == [RATES.sm_rate] * 2
    assert not rates[~active].any()


def test_sms_of_one_line_share_it_by_turns() -> None:
    """Four words to a line: a quarter each."""
    rates = atomic_rates(CHIP, np.ones(SMS, dtype=np.bool_), 32)
    assert rates.tolist() == pytest.approx([RATES.line_rate / 4] * SMS)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (1, CHIP.sharing.same_gpc_cycles),
        (24 * 2, CHIP.sharing.same_gpc_cycles),
        (2, CHIP.sharing.other_gpc_cycles),
    ],
)
def test_a_line_goes_to_and_fro_by_distance(other: int, expected: float) -> None:
    """Rounds times the round trip between SM 0 and another."""
    rig = Rig()
    out = rig.everywhere("pingpong", 32, rig.buffer(1), rig.buffer(16), 100, 0, other)
    assert out.tolist() == [round(100 * expected)]


def test_a_partner_that_never_came_is_not_seen() -> None:
    """The result stays 0."""
    rig = Rig()
    out = rig.buffer(1)
    rig.run("pingpong", 1, 32, out, rig.buffer(16), 100, 0, 5, shared=-1)
    assert out.read().tolist() == [0]


@pytest.mark.parametrize("pollers", [1, 2, 131])
def test_the_last_poller_answers_later_the_more_there_are(pollers: int) -> None:
    """What one takes, and for the latest of more the harmonic sum of the spread."""
    rig = Rig()
    mask = rig.select(range(1, 1 + pollers))
    out = rig.everywhere("poll", 32, rig.buffer(5), rig.buffer(64), 5, 0, mask)
    assert out.tolist() == [round(poll_ns(CHIP, pollers))] * 5


def test_further_pollers_matter_less_and_less() -> None:
    """One, two, four: half of the spread for the second, a third and a quarter for two more."""
    one, two, four = (poll_ns(CHIP, count) for count in (1, 2, 4))
    spread = CHIP.sharing.poll_spread_ns
    assert one == CHIP.sharing.poll_ns
    assert (two - one, four - two) == pytest.approx((spread / 2, spread * (1 / 3 + 1 / 4)))
