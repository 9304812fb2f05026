"""Kernels that stay within an SM."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.devices.sim.kernels.issue import Kind, Mode, bank_ways, iteration_cycles
from tests.devices.sim.rig import CHIP, SMS, Rig

ITERATIONS = 1000


@pytest.mark.parametrize(
    ("kind", "warps", "expected"),
    [
        (Kind.INDEPENDENT_FMA, 4, 1),
        (Kind.INDEPENDENT_FMA, 32, 8),
        (Kind.DEPENDENT_FMA, 4, 4),
        (Kind.DEPENDENT_FMA, 16, 4),
        (Kind.DEPENDENT_FMA, 32, 8),
        (Kind.NANOSLEEP, 32, 300),
        (Kind.BARRIER, 8, 28),
        (Kind.BARRIER, 32, 77),
    ],
)
def test_cycles_of_an_iteration(kind: Kind, warps: int, expected: float) -> None:
    """One warp a cycle on each of four schedulers; barriers as published for B300."""
    assert iteration_cycles(CHIP, kind, warps) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("grid", "block", "turns"), [(SMS, 512, 4), (2 * SMS, 1024, 16)])
def test_ctas_of_an_sm_share_its_schedulers(grid: int, block: int, turns: int) -> None:
    """Two CTAs of 32 warps are 16 warps to a scheduler."""
    rig = Rig()
    out = rig.buffer(3 * grid)
    rig.run("issue", grid, block, out, Kind.INDEPENDENT_FMA, ITERATIONS)
    rows = out.read().reshape(grid, 3)
    assert sorted(set(rows[:, 0].tolist())) == list(range(SMS))
    assert set((rows[:, 2] - rows[:, 1]).tolist()) == {turns * ITERATIONS}


@given(st.integers(0, 256))
def test_a_stride_costs_its_greatest_common_divisor_with_the_banks(stride: int) -> None:
    """Stride 32 costs 32 ways, odd strides none, and a broadcast none."""
    expected = math.gcd(stride, 32) if stride else 1
    assert bank_ways(CHIP, stride, Mode.LOAD) == expected
    assert bank_ways(CHIP, stride, Mode.STORE) == expected


@pytest.mark.parametrize("mode", [Mode.PADDED, Mode.SWIZZLED])
@pytest.mark.parametrize("stride", [1, 2, 4, 8, 16, 32])
def test_padding_and_swizzling_cure(mode: Mode, stride: int) -> None:
    """No stride that divides the banks conflicts any more."""
    assert bank_ways(CHIP, stride, mode) == 1


def test_each_way_costs_its_cycles() -> None:
    """32 ways take 31 more than one."""
    rig = Rig()

    def cycles(stride: int) -> int:
        out = rig.buffer(2)
        rig.run("banks", 1, 32, out, stride, ITERATIONS, Mode.LOAD)
        return int(out.read()[1])

    assert cycles(1) == CHIP.shared.load_cycles * ITERATIONS
    assert cycles(32) - cycles(1) == pytest.approx(31 * CHIP.shared.way_cycles * ITERATIONS)
