"""The link between host and GPU is the bound."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import blocking_copy, link_bound
from tests.builders import PAGEABLE_HTOD, PINNED_HTOD, Trace, copy, kernel, steps
from tests.recordings.causes.cases import evidence, find, found, recorded

# At the 55 GB/s of an H200's link this takes 200 us.
SIZE = 11_000_000


def run(copied: float, computed: float, size: int) -> Timeline:
    """Copy pinned memory on a stream of its own beside a kernel, issued ahead."""

    def body(trace: Trace) -> None:
        work = copy(PINNED_HTOD, 5, 5 + copied, stream=8, size=size)
        trace.launch(0, 4, work, call="cudaMemcpyAsync")
        trace.launch(5, 9, kernel("k", 10, 10 + computed))

    return steps(8, 60, body, gpu=max(copied, computed))


def test_copies_that_take_longer_than_the_kernels_are_found() -> None:
    """What the link holds up is what the copies take beyond the kernels; no gain is computed."""
    finding = found(link_bound, run(800, 200, 4 * SIZE))
    assert (finding.step_us_after, finding.recoverable_us) == (None, None)
    assert finding.share == pytest.approx(0.75, abs=0.01)
    assert finding.cures == ("fewer-bytes",)
    assert finding.claim.startswith("0.044 GB at 55 GB/s to the GPU take")
    assert evidence(finding, "the fastest of these copies") == 55
    assert evidence(finding, "a link of 16 lanes of this GPU's generation") == 55


def test_a_link_that_is_idle_half_of_the_time_is_no_bound() -> None:
    """Copies that hide behind the kernels, or could, are not the link's fault."""
    assert find(link_bound, run(200, 400, SIZE)) is None

    def in_series(trace: Trace) -> None:
        trace.launch(0, 4, copy(PINNED_HTOD, 5, 205, size=SIZE), call="cudaMemcpyAsync")
        trace.launch(5, 9, kernel("k", 205, 1205))

    assert find(link_bound, steps(8, 60, in_series, gpu=1200)) is None


def test_pageable_copies_are_the_copies_fault_first() -> None:
    """Staged copies run below the link's speed: pinned they would be hidden, and are no bound."""

    def body(trace: Trace) -> None:
        work = copy(PAGEABLE_HTOD, 5, 2005, size=SIZE)
        trace.launch(0, 2009, work, call="cudaMemcpyAsync")
        trace.launch(2010, 2014, kernel("k", 2015, 2515))

    timeline = steps(8, 2520, body)
    assert find(link_bound, timeline) is None
    assert found(blocking_copy, timeline).recoverable_us == pytest.approx(2000, rel=0.01)


def test_a_window_full_of_pinned_copies() -> None:
    """Recorded on an H100: 25.5 GB at 27.7 GB/s are 95% of the time; pinning brings 5%."""
    timeline = recorded("nsys/h2d_window.sqlite")[0]
    finding = found(link_bound, timeline)
    assert "25.5 GB at 27.7 GB/s to the GPU take 95% of each step" in finding.claim
    assert finding.share > 0.6
    assert found(blocking_copy, timeline).share == pytest.approx(0.05, abs=0.01)


def test_a_program_of_pageable_copies() -> None:
    """Recorded on an RTX 3060: pinned copies come first, and then the link holds it up still."""
    (timeline,) = recorded("nsys/tail_after_last_copy.sqlite")
    copies = found(blocking_copy, timeline)
    assert copies.share == pytest.approx(0.545, abs=0.01)
    assert found(link_bound, timeline).share < 1 - copies.share
