"""What kernels lose by the shape of their grids; a kernel of 102 us has 100 us above the floor."""

from __future__ import annotations

import pytest

from tailwave.model import DeviceInfo
from tailwave.recordings.timeline.losses import GridLosses, exclusive, grid_losses
from tailwave.recordings.timeline.residency import residency
from tests.builders import H200, PINNED_HTOD, Trace, Work, copy, kernel

# A CTA of this many bytes of shared memory fits an SM of an H200 once.
ONE_PER_SM = 200 * 1024


def losses(*work: Work) -> GridLosses:
    """Compute the losses of kernels on an H200 with its 132 SMs."""
    timeline = Trace().launch(0, 5, *work).build()
    return grid_losses(timeline, residency(timeline), H200)


@pytest.mark.parametrize(
    ("grid", "waves", "whole"),
    [(133, 133 / 132, 2), (198, 1.5, 2), (263, 263 / 132, 2), (265, 265 / 132, 3)],
)
def test_a_part_filled_wave_loses_its_empty_part(grid: int, waves: float, whole: int) -> None:
    """A grid that makes 1.5 waves takes the time of two, and loses a quarter of it."""
    found = losses(kernel("k", 10, 112, grid=grid, shared=ONE_PER_SM))
    assert found.tail.tolist() == [pytest.approx(100_000 * (1 - waves / whole))]
    assert found.small.tolist() == [0]


@pytest.mark.parametrize("grid", [132, 264, 1320])
def test_whole_waves_lose_nothing(grid: int) -> None:
    """A multiple of a wave has no tail."""
    found = losses(kernel("k", 10, 112, grid=grid, shared=ONE_PER_SM))
    assert (found.tail.tolist(), found.small.tolist()) == ([0], [0])


def test_a_wave_holds_as_many_ctas_as_fit() -> None:
    """Eight CTAs per SM: a grid of 1056 is one wave, and 133 CTAs are no tail of anything."""
    found = losses(
        kernel("a", 10, 112, grid=1056), kernel("b", 112, 214, grid=133), kernel("c", 214, 316)
    )
    assert found.tail.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("grid", "idle"), [(1, 131 / 132), (66, 0.5), (131, 1 / 132)])
def test_a_small_grid_loses_the_idle_sms(grid: int, idle: float) -> None:
    """A grid of half as many CTAs as SMs leaves half of the chip idle."""
    found = losses(kernel("k", 10, 112, grid=grid))
    assert found.small.tolist() == [pytest.approx(100_000 * idle)]
    assert found.tail.tolist() == [0]


@pytest.mark.parametrize(
    ("block", "kept"),
    [(1, 1 / 32), (4, 1 / 8), (33, 33 / 64), (32, 1), (256, 1), (1000, 1000 / 1024)],
)
def test_part_filled_warps_lose_their_idle_lanes(block: int, kept: float) -> None:
    """A hundred waves of CTAs of four threads take eight times the warps that they need."""
    found = losses(kernel("k", 10, 112, grid=132 * 32 * 100, block=block))
    assert found.lanes.tolist() == [pytest.approx(100_000 * (1 - kept), abs=1)]


def test_warps_that_all_run_at_once_lose_no_lanes() -> None:
    """A thread on each SM takes as long as a warp on one; four waves become one and no less."""
    alone = kernel("k", 10, 112, grid=132, block=1)
    waves = kernel("k", 112, 214, grid=132 * 4, block=1, shared=ONE_PER_SM)
    assert losses(alone, waves).lanes.tolist() == [0, pytest.approx(75_000)]


def test_lanes_of_an_unknown_chip_are_lost_where_no_chip_holds_the_grid() -> None:
    """No GPU runs four million CTAs at once; a thousand may fit."""
    many = kernel("k", 10, 112, grid=1 << 22, block=4)
    some = kernel("k", 112, 214, grid=1000, block=4)
    timeline = Trace(devices=()).launch(0, 5, many, some).build()
    found = grid_losses(timeline, residency(timeline), DeviceInfo(index=0))
    assert found.lanes.tolist() == [pytest.approx(87_500), 0]


def test_no_kernel_is_faster_than_an_empty_one() -> None:
    """What takes 2 us takes that with any grid."""
    assert losses(kernel("k", 10, 12, grid=1)).small.tolist() == [0]


def test_time_shared_with_another_kernel_is_not_lost() -> None:
    """SMs that one kernel leaves idle may be another's, so only time alone counts."""
    found = losses(kernel("k", 10, 112, grid=66), kernel("other", 12, 62, stream=8))
    assert found.small.tolist() == [pytest.approx(52_000 * 0.5), 0]


@pytest.mark.parametrize(
    "name",
    ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "rcclKernel"],
)
def test_collective_kernels_lose_nothing(name: str) -> None:
    """A collective's grid is small on purpose: it waits for other GPUs, not for SMs."""
    assert losses(kernel(name, 10, 112, grid=24)).small.tolist() == [0]


def test_unknown_grids_and_chips_lose_nothing() -> None:
    """Where grid, CTA or chip is unknown, nothing is charged."""
    assert losses(
        kernel("k", 10, 112), kernel("l", 112, 214, grid=133, block=-1)
    ).tail.tolist() == [
        0,
        0,
    ]
    timeline = Trace(devices=()).launch(0, 5, kernel("k", 10, 112, grid=1)).build()
    assert grid_losses(timeline, residency(timeline), DeviceInfo(index=0)).small.tolist() == [0]


def test_copies_lose_nothing_but_share_the_gpu() -> None:
    """A copy has no grid; while it runs, a kernel is not alone."""
    found = losses(kernel("k", 10, 112, grid=66), copy(PINNED_HTOD, 10, 112, stream=8))
    assert found.small.tolist() == [0, 0]


def test_exclusive_time_is_that_of_one_device() -> None:
    """Work on another GPU does not make a kernel share its own."""
    trace = Trace().launch(
        0, 5, kernel("a", 10, 40), kernel("b", 20, 30, stream=8), kernel("c", 10, 40, device=1)
    )
    assert exclusive(trace.build(), 0).tolist() == [20_000, 0, 0]
