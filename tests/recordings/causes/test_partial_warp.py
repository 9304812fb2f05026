"""CTAs whose threads do not fill their warps."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import partial_warp
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found, recorded
from tests.recordings.causes.test_unfused import GEMM


def run(block: int, grid: int = 132 * 32 * 100) -> Timeline:
    """Run a matrix product of 100 us and a kernel of 102, 100 of them above the floor."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel(GEMM, 5, 105, grid=132))
        trace.launch(5, 9, kernel("insert(int *)", 105, 207, grid=grid, block=block))

    return steps(8, 30, body, gpu=202)


@pytest.mark.parametrize(("block", "lost"), [(1, 96.875), (4, 87.5), (33, 100 * 31 / 64)])
def test_idle_lanes_are_found(block: int, lost: float) -> None:
    """Whole warps take the time of as many fewer as hold the same threads."""
    finding = found(partial_warp, run(block))
    assert finding.recoverable_us == pytest.approx(lost, abs=0.1)
    assert finding.cures == ("whole-warps",)
    assert evidence(finding, "lost to idle lanes") == pytest.approx(lost, abs=0.1)
    assert evidence(finding, "insert, once") == 102


def test_the_claim_says_what_is_wrong() -> None:
    """The kernel, its CTAs, their threads, and what a warp has."""
    claim = found(partial_warp, run(1)).claim
    assert "insert runs 422,400 CTAs of 1 thread, where a warp has 32" in claim


@pytest.mark.parametrize("block", [32, 64, 256, 1024])
def test_whole_warps_are_not_found(block: int) -> None:
    """A multiple of 32 threads leaves no lane empty."""
    assert find(partial_warp, run(block)) is None


def test_ctas_that_all_run_at_once_are_not_found() -> None:
    """A hundred CTAs of one thread are a small grid, whatever their warps."""
    assert find(partial_warp, run(1, grid=100)) is None


def test_millions_of_ctas_of_four_threads() -> None:
    """Recorded on a GTX 1660 Super: 96% of the GPU's time is one kernel of 4-thread CTAs."""
    (timeline,) = recorded("nsys/block_of_4_threads.sqlite")
    finding = found(partial_warp, timeline)
    assert "d_insert_arr runs 4,194,304 CTAs of 4 threads, where a warp has 32" in finding.claim
    assert evidence(finding, "d_insert_arr, 61 times") == pytest.approx(1_341_743, abs=1)
    assert finding.recoverable_us == pytest.approx(1_341_743 * 7 / 8, rel=0.001)
