"""The block dispatcher: first wave, refill, places on an SM, clusters; alone and in company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.gpu.devices.base import NotSupportedError, Words
from tailwave.gpu.devices.sim.topology import build
from tailwave.gpu.devices.sim.work import Footprint, Waves
from tests.gpu.devices.sim.rig import CHIP, SMS, Rig

COSTS = CHIP.dispatch
CYCLES = 100_000
LIFE = COSTS.cta_ns + CHIP.ns(CYCLES)


def test_133_ctas_of_one_an_sm_take_two_waves() -> None:
    """132 run side by side, and the last one after the first of them, in its place."""
    rows = Rig().rows("stamp", 133, CYCLES).astype(np.int64)
    assert len(set(rows[:132, 0].tolist())) == 132
    assert rows[132, 0] == rows[0, 0]
    assert rows[132, 1] - rows[0, 2] == pytest.approx(COSTS.refill_ns, abs=32)
    assert rows[:, 2].max() - rows[:, 1].min() == pytest.approx(2 * LIFE + COSTS.refill_ns, abs=64)


def test_132_ctas_take_one_wave() -> None:
    """The last ends when all have left the dispatcher and one has lived."""
    rows = Rig().rows("stamp", 132, CYCLES).astype(np.int64)
    expected = LIFE + 131 * COSTS.cta_interval_ns
    assert rows[:, 2].max() - rows[:, 1].min() == pytest.approx(expected, abs=64)


def test_large_empty_grids_take_an_interval_each() -> None:
    """The dispatcher's rate is the slope."""
    rig = Rig()
    fewer = rig.finished_ns(lambda: rig.run("empty", 200_000, 32))
    more = rig.finished_ns(lambda: rig.run("empty", 1_200_000, 32))
    assert (more - fewer) / 1_000_000 == pytest.approx(COSTS.cta_interval_ns, rel=1e-3)


@pytest.mark.parametrize(
    ("block", "shared", "expected"),
    [(32, 0, 32), (64, 0, 32), (128, 0, 16), (1024, 0, 2), (33, 0, 32), (32, 100_000, 2)],
)
def test_places_on_an_sm(block: int, shared: int, expected: int) -> None:
    """Threads by the warp, shared memory with the system's part, and a greatest number."""
    assert Footprint(CHIP, block, shared).per_sm(CHIP) == expected


def test_the_most_shared_memory_makes_one_cta_fill_an_sm() -> None:
    """That is what -1 asks for."""
    assert Footprint(CHIP, 32, CHIP.facts.shared_per_block_optin).per_sm(CHIP) == 1


@given(ctas=st.integers(1, 400), sms=st.integers(1, 16), per_sm=st.integers(1, 4))
def test_no_place_holds_two_ctas(ctas: int, sms: int, per_sm: int) -> None:
    """At no time has an SM more CTAs than places, and CTAs leave in order."""
    waves = Waves(COSTS, ctas, np.arange(sms), per_sm, np.full(sms, 500.0))
    placed = waves.placement(1000.0)
    assert waves.holds
    assert waves.length() == pytest.approx(float(placed.end.max()) - 1000.0)
    assert (np.diff(placed.start) > 0).all()
    for start in placed.start:
        running = (placed.start <= start) & (placed.end > start)
        assert int(np.bincount(placed.sm[running]).max()) <= per_sm


def test_ctas_that_differ_are_told_for_one_wave_only() -> None:
    """A second wave depends on who ends first."""
    lives = np.array([1.0, 2.0])
    assert Waves(COSTS, 2, np.arange(2), 1, lives).holds
    assert not Waves(COSTS, 3, np.arange(2), 1, lives).holds


def _in_partition(grid: int, block: int, *, company: bool) -> Words:
    """Run a grid on 40 SMs, beside a long CTA on the others or not; returns its rows."""
    rig = Rig()
    out = rig.buffer(4 * grid)
    with rig.device.partition([40]) as (own, others):
        if company:
            rig.run("stamp", 1, 32, rig.buffer(4), 100_000_000, stream=others)
        rig.run("stamp", grid, block, out, CYCLES, stream=own)
    return out.read().reshape(grid, 4)


@settings(max_examples=30, deadline=None)
@given(grid=st.integers(1, 1000), block=st.sampled_from([32, 256, 1024]))
def test_company_that_leaves_room_changes_nothing(grid: int, block: int) -> None:
    """What events lead to is what the closed form says, but for a wave's spread, each wave."""
    alone, beside = (_in_partition(grid, block, company=company) for company in (False, True))
    assert sorted(alone[:, 0].tolist()) == sorted(beside[:, 0].tolist())
    ends = [np.sort((rows[:, 2] - rows[:, 1].min()).astype(np.int64)) for rows in (alone, beside)]
    places = 40 * Footprint(CHIP, block, 0).per_sm(CHIP)
    spread = -(-grid // places) * places * COSTS.cta_interval_ns
    assert np.abs(ends[0] - ends[1]).max() <= spread + 2 * CHIP.clock.tick_ns


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_a_cluster_lies_in_one_gpc(size: int) -> None:
    """Each cluster's SMs are in one domain, each once."""
    rig = Rig()
    rows = rig.rows("stamp", SMS // size * size, CYCLES, cluster=size)
    topology = build(CHIP.topology)
    for cluster in rows[:, 0].astype(np.int64).reshape(-1, size):
        assert len(set(cluster.tolist())) == size
        assert any(set(cluster.tolist()) <= set(domain.tolist()) for domain in topology.domains)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_clusters_do_not_reach_the_leftovers(size: int) -> None:
    """Clusters larger than a TPC never run on SMs 120 to 131, however many there are."""
    rows = Rig().rows("stamp", 40 * size, CYCLES, cluster=size)
    assert int(rows[:, 0].max()) < 120


def test_clusters_of_two_reach_every_sm() -> None:
    """A leftover TPC holds a cluster of two."""
    rows = Rig().rows("stamp", SMS, CYCLES, cluster=2)
    assert sorted(rows[:, 0].tolist()) == list(range(SMS))


def test_a_cluster_that_a_partition_cannot_hold_is_refused() -> None:
    """It would wait for ever."""
    rig = Rig()
    with rig.device.partition([8]) as (small, _), pytest.raises(NotSupportedError, match="16 CTAs"):
        rig.run("empty", 16, 32, cluster=16, shared=-1, stream=small)
