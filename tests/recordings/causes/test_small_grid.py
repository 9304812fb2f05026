"""Kernels with fewer CTAs than the chip has SMs."""

from __future__ import annotations

import pytest

from tailwave.model import DeviceInfo, Timeline
from tailwave.recordings.causes import small_grid, wave_tail
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found


def run(grid: int, *, name: str = "k", took: float = 102, trace: Trace | None = None) -> Timeline:
    """Run five kernels a step, issued ahead."""

    def body(trace: Trace) -> None:
        for number in range(5):
            begin = 5 + took * number
            work = kernel(name, begin, begin + took, grid=grid)
            trace.launch(5 * number, 5 * number + 4, work)

    return steps(4, 30, body, trace, gpu=5 * took)


def test_a_grid_of_half_the_sms_is_found() -> None:
    """66 CTAs on 132 SMs: spread over all of them, at best half of the time goes.

    The first of four steps begins 5 us before its first kernel.
    """
    finding = found(small_grid, run(66))
    assert (finding.step_us_now, finding.step_us_after) == (510 + 5 / 4, 260 + 5 / 4)
    assert finding.cures == ("split-work", "merge-small-grids")
    assert "typically 66 on 132" in finding.claim
    assert evidence(finding, "lost to idle SMs, at most") == pytest.approx(250)
    assert evidence(finding, "kernels concerned") == 5


def test_a_grid_of_all_sms_is_not_found() -> None:
    """Where every SM has a CTA none is idle, and part of a wave is no tail."""
    assert find(small_grid, run(132)) is None
    assert find(wave_tail, run(132)) is None


def test_short_kernels_cannot_get_shorter() -> None:
    """An empty kernel takes 2 us as well."""
    assert find(small_grid, run(1, took=2)) is None


def test_a_collective_is_not_accused() -> None:
    """Collectives take few SMs on purpose."""
    assert find(small_grid, run(24, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL")) is None


def test_an_unknown_chip_has_no_idle_sms() -> None:
    """How many SMs there are must be known."""
    assert find(small_grid, run(1, trace=Trace(devices=(DeviceInfo(index=0),)))) is None


def test_idle_sms_that_another_kernel_used_are_not_lost() -> None:
    """Two small kernels side by side on two streams share the chip."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("a", 5, 105, grid=66))
        trace.launch(5, 9, kernel("b", 5, 105, grid=66, stream=8))

    assert find(small_grid, steps(4, 30, body, gpu=100)) is None
