"""Kernels that stay within an SM."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.gpu.devices.sim.kernels.issue import Kind, Mode, bank_ways, iteration_cycles
from tests.gpu.devices.sim.rig import CHIP, SMS, Rig

ITERATIONS = 1000


@pytest.mark.parametrize(
    ("kind", "warps", "ctas", "expected"),
    [
        (Kind.INDEPENDENT_FMA, 4, 1, 1.04),
        (Kind.INDEPENDENT_FMA, 32, 2, 16.6),
        (Kind.DEPENDENT_FMA, 4, 1, 4.07),
        (Kind.DEPENDENT_FMA, 16, 1, 4.16),
        (Kind.DEPENDENT_FMA, 32, 1, 8.3),
        (Kind.NANOSLEEP, 32, 2, 253),
        (Kind.BARRIER, 8, 1, 30.3),
        (Kind.BARRIER, 32, 1, 78.7),
        (Kind.BARRIER, 32, 2, 129),
    ],
)
def test_cycles_of_an_iteration(kind: Kind, warps: int, ctas: int, expected: float) -> None:
    """One warp a cycle on each of four schedulers, and the loop's own; barriers overlap."""
    assert iteration_cycles(CHIP, kind, warps, ctas) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("grid", "block", "turns"), [(SMS, 512, 4), (2 * SMS, 1024, 16)])
def test_ctas_of_an_sm_share_its_schedulers(grid: int, block: int, turns: int) -> None:
    """Two CTAs of 32 warps are 16 warps to a scheduler, and the second begins later."""
    rig = Rig()
    out = rig.buffer(3 * grid)
    rig.run("issue", grid, block, out, Kind.INDEPENDENT_FMA, ITERATIONS)
    rows = out.read().reshape(grid, 3).astype(np.int64)
    assert sorted(set(rows[:, 0].tolist())) == list(range(SMS))
    expected = turns * ITERATIONS * CHIP.issue.fma_cycles
    assert rows[:, 2] - rows[:, 1] == pytest.approx(np.full(grid, expected), abs=1)
    later = rows[SMS:, 1] - rows[: grid - SMS, 1]
    assert (later >= CHIP.issue.further_cta_cycles).all()


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


def _cycles(stride: int, mode: Mode) -> int:
    rig = Rig()
    out = rig.buffer(2)
    rig.run("banks", 1, 32, out, stride, ITERATIONS, mode)
    return int(out.read()[1])


def test_each_way_costs_a_load_its_cycles() -> None:
    """32 ways take 31 more than one."""
    one, all_ways = (_cycles(stride, Mode.LOAD) for stride in (1, 32))
    assert one == CHIP.shared.load_cycles * ITERATIONS
    assert all_ways - one == pytest.approx(31 * CHIP.shared.way_cycles * ITERATIONS)


def test_stores_queue_up_behind_the_banks() -> None:
    """A few ways cost nothing, for a store takes longer to issue; 32 cost what the banks take."""
    assert _cycles(1, Mode.STORE) == _cycles(2, Mode.STORE)
    assert _cycles(32, Mode.STORE) == 32 * CHIP.shared.way_cycles * ITERATIONS
