"""Kernels that go to L2 and memory: latency, bandwidth, queueing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.gpu.devices.sim import fabric
from tailwave.gpu.devices.sim.fabric import L2Latency
from tailwave.gpu.devices.sim.kernels.memory import Role
from tailwave.gpu.devices.sim.topology import build
from tests.gpu.devices.sim.rig import CHIP, SMS, Rig

TOPOLOGY = build(CHIP.topology)
LATENCY = L2Latency(CHIP, TOPOLOGY)
PORTS = CHIP.ports
LINES = np.arange(256)
MATRIX = np.array([LATENCY.cycles(sm, LINES) for sm in range(SMS)])
WORDS = 1 << 17
PASSES = 64


def _active(sms: Sequence[int]) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(SMS), sms)


def test_a_chase_gives_the_latency_of_each_line() -> None:
    """Word i is line i from that SM, to the cycle."""
    rig = Rig()
    out = rig.everywhere("chase", 32, rig.buffer(256), rig.buffer(4096), 256, 8, 77)
    assert out.tolist() == np.rint(MATRIX[77]).tolist()


def test_a_chase_on_an_sm_that_has_no_cta_writes_nothing() -> None:
    """What the host wrote stays."""
    rig = Rig()
    out = rig.buffer(256)
    rig.run("chase", 1, 32, out, rig.buffer(4096), 256, 8, 77, shared=-1)
    assert not out.read().any()


def test_latency_is_a_mean_and_what_is_added() -> None:
    """The mean is the parameter; SMs of a TPC are alike; a TPC of a CPC is a step from the next."""
    assert MATRIX.mean() == pytest.approx(CHIP.latency.mean_cycles, rel=0.01)
    assert np.abs(MATRIX[0::2] - MATRIX[1::2]).max() == 0
    steps = MATRIX[2 * 8] - MATRIX[2 * 62]  # the first and the second TPC of a CPC
    assert steps == pytest.approx(np.full(256, CHIP.latency.tpc_step_cycles))


def test_latency_is_like_the_measured_matrix() -> None:
    """Measured on an H200: 261 to 346 cycles, a standard deviation of 17.7."""
    assert 250 < MATRIX.min() < 275
    assert 330 < MATRIX.max() < 360
    assert MATRIX.std() == pytest.approx(17.7, rel=0.15)


def test_lines_are_near_or_far() -> None:
    """From one side of the die a line is near, from the other it is far."""
    one, other = (MATRIX[TOPOLOGY.side == side].mean(axis=0) for side in (0, 1))
    gap = np.abs(one - other)
    assert float(np.median(gap)) == pytest.approx(
        2 * np.mean(CHIP.latency.partition_cycles), rel=0.2
    )
    assert np.corrcoef(one, other)[0, 1] < -0.5


def test_rows_of_one_gpc_are_more_alike_than_those_of_its_twin() -> None:
    """The fingerprint tells apart the two GPCs of one site, CPC by CPC."""

    def unlike(one: int, other: int) -> float:
        return float(np.std(MATRIX[2 * one] - MATRIX[2 * other]))

    same_cpc, twin, other_site = unlike(0, 24), unlike(0, 6), unlike(0, 3)
    assert same_cpc < 0.1 < twin < 2 < other_site


def _bandwidth(sms: list[int], kernel: str = "read") -> float:
    """Return bytes per cycle that SMs get together, each at its own pace."""
    rig = Rig()
    out = rig.everywhere(
        kernel, 1024, rig.buffer(4 * SMS), rig.buffer(WORDS), WORDS, PASSES, rig.select(sms)
    )
    rows = out.reshape(SMS, 4).astype(np.float64)
    assert np.flatnonzero(rows[:, 0]).tolist() == sms
    assert set(rows[sms, 0].tolist()) == {8 * WORDS * PASSES}
    assert len(set(rows[sms, 1].tolist())) == 1
    return float((rows[sms, 0] / rows[sms, 3]).sum())


def test_one_sm_gets_what_its_port_lets_through() -> None:
    """64 bytes a cycle, less the first access."""
    assert _bandwidth([5]) == pytest.approx(PORTS.sm_read, rel=0.01)


@pytest.mark.parametrize(
    ("kernel", "sm", "tpc"),
    [("read", PORTS.sm_read, PORTS.tpc_read), ("write", PORTS.sm_write, PORTS.tpc_write)],
)
def test_two_sms_of_a_tpc(kernel: str, sm: float, tpc: float) -> None:
    """Twice one SM's, or the port of the TPC, whichever is less."""
    assert _bandwidth([10, 11], kernel) == pytest.approx(min(2 * sm, tpc), rel=0.01)


def test_a_gpc_gets_what_its_port_lets_through() -> None:
    """16 SMs ask for more than that."""
    sms = np.flatnonzero(TOPOLOGY.gpc == 1).tolist()
    assert _bandwidth(sms) == pytest.approx(PORTS.gpc_read, rel=0.01)


def test_sms_of_different_gpcs_do_not_meet() -> None:
    """One in each of the eight has all of its own port."""
    sms = [int(np.flatnonzero(TOPOLOGY.gpc == gpc)[0]) for gpc in range(8)]
    assert _bandwidth(sorted(sms)) == pytest.approx(8 * PORTS.sm_read, rel=0.01)


@given(st.sets(st.integers(0, SMS - 1), min_size=1), st.booleans())
def test_no_port_lets_through_more_than_it_has(sms: set[int], write: bool) -> None:  # noqa: FBT001
    """Neither an SM's nor a TPC's nor a GPC's nor L2's, and an active SM gets something."""
    active = _active(list(sms))
    rate = fabric.shares(CHIP, TOPOLOGY, active, write=write)
    kind = "write" if write else "read"
    slack = 1 + 1e-9
    assert (rate[active] > 0).all()
    assert (rate[~active] == 0).all()
    assert rate.max() <= getattr(PORTS, f"sm_{kind}") * slack
    assert np.bincount(TOPOLOGY.tpc, rate).max() <= getattr(PORTS, f"tpc_{kind}") * slack
    assert np.bincount(TOPOLOGY.gpc, rate).max() <= getattr(PORTS, f"gpc_{kind}") * slack
    assert rate.sum() <= getattr(PORTS, f"l2_{kind}") * slack


@pytest.mark.parametrize(
    ("nbytes", "expected"), [(1, 1.0), (40_000_000, 1.0), (54_350_000, 0.5), (10**9, 0.0)]
)
def test_hits_fall_with_the_working_set(nbytes: int, expected: float) -> None:
    """From all that L2 keeps to nothing."""
    assert fabric.hit_share(CHIP, nbytes) == pytest.approx(expected)


def test_a_working_set_beyond_l2_goes_at_the_memory_s_pace() -> None:
    """And so do all SMs together."""
    everyone = np.ones(SMS, dtype=np.bool_)
    rate = fabric.streaming(CHIP, TOPOLOGY, everyone, working_set=10**9, write=False)
    assert rate.sum() == pytest.approx(PORTS.memory)


def test_nobody_waits_on_an_idle_chip() -> None:
    """Without a streaming SM there is no queue."""
    assert fabric.queueing_cycles(CHIP, TOPOLOGY, _active([]), 0) == 0


def test_the_wait_grows_with_the_load() -> None:
    """SM by SM of the victim's own GPC, and by the closed form where there is room to spare.

    There half a service is the most, for what streams keep under way fills no queue yet.
    """
    peers = [sm for sm in np.flatnonzero(TOPOLOGY.gpc == 1).tolist() if sm not in (2, 3)]
    waits = [
        fabric.queueing_cycles(CHIP, TOPOLOGY, _active(peers[:count]), 2) for count in range(15)
    ]
    assert waits == sorted(waits)
    half = PORTS.burst_cycles * PORTS.sm_read / 2
    load = np.array([4 * PORTS.sm_read / PORTS.gpc_read, 4 * PORTS.sm_read / PORTS.l2_read])
    services = half / np.array([PORTS.gpc_read, PORTS.l2_read])
    assert waits[4] == pytest.approx(float((services * np.minimum(load / (1 - load), 1)).sum()))


def test_a_full_port_holds_what_is_under_way() -> None:
    """All of the streaming SMs' accesses, less those that are elsewhere."""
    peers = [sm for sm in np.flatnonzero(TOPOLOGY.gpc == 1).tolist() if sm != 2]
    wait = fabric.queueing_cycles(CHIP, TOPOLOGY, _active(peers), 2)
    backlog = len(peers) * PORTS.in_flight_bytes / PORTS.gpc_read - CHIP.latency.mean_cycles
    half = PORTS.burst_cycles * PORTS.sm_read / 2
    services = sum(half / port for port in (PORTS.tpc_read, PORTS.gpc_read, PORTS.l2_read))
    assert backlog < wait <= backlog + services


def _loaded(rig: Rig, roles: Sequence[int], samples: int = 1000) -> list[int]:
    out = rig.buffer(samples + 1)
    rig.everywhere("loaded", 1024, out, rig.buffer(WORDS), WORDS, samples, rig.buffer(roles))
    return [int(word) for word in out.read()]


def test_a_victim_without_company_sees_idle_latency() -> None:
    """And nobody that ran beside it."""
    *cycles, aggressors = _loaded(Rig(), [Role.VICTIM] + [Role.NONE] * (SMS - 1))
    assert aggressors == 0
    expected = np.rint(LATENCY.cycles(0, np.arange(1000) % (WORDS // 16)))
    assert cycles == expected.tolist()


def test_a_victim_in_company_waits() -> None:
    """With all others streaming the median is higher, and the tail more so."""
    *alone, _ = _loaded(Rig(), [Role.VICTIM] + [Role.NONE] * (SMS - 1))
    *cycles, aggressors = _loaded(Rig(), [Role.VICTIM] + [Role.AGGRESSOR] * (SMS - 1))
    assert aggressors == SMS - 1
    median, tail = np.percentile(cycles, [50, 99]) - np.percentile(alone, [50, 99])
    assert tail > median > 50


def test_without_a_victim_nothing_is_written() -> None:
    """The aggressors have nobody to stream beside."""
    assert not any(_loaded(Rig(), [Role.AGGRESSOR] * SMS))


def test_touch_reads_a_word_of_each_page() -> None:
    """And writes how many there were, so that the reads are kept."""
    rig = Rig()
    out = rig.buffer(1)
    rig.run("touch", 1, 32, out, rig.buffer(1024), 1024)
    assert out.read().tolist() == [2]
