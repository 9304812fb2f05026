"""The last wave of a grid is part-filled."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import small_grid, wave_tail
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found

# A CTA of this much shared memory has an SM for itself.
ONE_PER_SM = 200 * 1024


def run(grid: int, **fields: int) -> Timeline:
    """Run five kernels a step, each of 102 us, 100 of them above the floor, issued ahead."""

    def body(trace: Trace) -> None:
        for number in range(5):
            begin = 5 + 102 * number
            work = kernel("k", begin, begin + 102, grid=grid, shared=ONE_PER_SM, **fields)
            trace.launch(5 * number, 5 * number + 4, work)

    return steps(4, 30, body, gpu=510)


def test_one_cta_beyond_a_wave_is_found() -> None:
    """133 CTAs on 132 SMs take two waves: whole ones would take 133 of 264 parts of the time.

    The first of four steps begins 5 us before its first kernel.
    """
    finding = found(wave_tail, run(133))
    assert finding.step_us_now == 510 + 5 / 4
    assert finding.recoverable_us == pytest.approx(500 * (1 - 133 / 264), abs=0.01)
    assert finding.cures == ("whole-waves", "persistent-kernel")
    assert "133 CTAs where 132 make a wave" in finding.claim


def test_the_evidence_gives_waves_and_residency() -> None:
    """The worst kernel is described by what decides its waves."""
    finding = found(wave_tail, run(133))
    assert evidence(finding, "kernels concerned") == 5
    assert evidence(finding, "its waves") == 133 / 132
    assert evidence(finding, "its CTAs per SM") == 1


@pytest.mark.parametrize("grid", [132, 264, 13_200])
def test_whole_waves_are_not_found(grid: int) -> None:
    """A multiple of what fits has no tail."""
    assert find(wave_tail, run(grid)) is None


def test_the_tail_of_many_waves_is_not_worth_a_sentence() -> None:
    """One CTA beyond a hundred waves costs a hundredth."""
    finding = found(wave_tail, run(132 * 100 + 1))
    assert (finding.recoverable_us or 0) < 510 / 100


def test_a_grid_below_one_wave_has_no_tail() -> None:
    """Fewer CTAs than SMs are another matter, and another finding."""
    assert find(wave_tail, run(66)) is None
    assert find(small_grid, run(66)) is not None


def test_a_kernel_of_unknown_shape_is_not_accused() -> None:
    """Without its registers nobody can say how many CTAs fit."""
    assert find(wave_tail, run(133, registers=-1)) is None
