"""Copies of pageable memory, or copies in series with the kernels."""

from __future__ import annotations

import pytest

from tailwave.recordings.causes import blocking_copy
from tests.builders import (
    DTOD,
    PAGEABLE_DTOH,
    PAGEABLE_HTOD,
    PINNED_HTOD,
    Trace,
    copy,
    kernel,
    steps,
)
from tests.recordings.causes.cases import evidence, find, found

# At the 55 GB/s of an H200's link this takes 200 us.
SIZE = 11_000_000


def compute(trace: Trace, issued: float, begin: float) -> None:
    """Issue ten kernels of 100 us."""
    for number in range(10):
        at, start = issued + 5 * number, begin + 100 * number
        trace.launch(at, at + 4, kernel("k", start, start + 100))


def pageable(trace: Trace) -> None:
    """Copy for 995 us, the host held all the while, and compute only then."""
    work = copy(PAGEABLE_HTOD, 5, 1000, size=SIZE)
    trace.launch(0, 1004, work, call="cudaMemcpyAsync")
    compute(trace, 1005, 1010)


def in_series(trace: Trace) -> None:
    """Copy pinned memory in the stream of the kernels, which wait for it."""
    trace.launch(0, 4, copy(PINNED_HTOD, 5, 205, size=SIZE), call="cudaMemcpyAsync")
    compute(trace, 5, 205)


def overlapped(trace: Trace) -> None:
    """Copy pinned memory on a stream of its own, while the kernels run."""
    trace.launch(0, 4, copy(PINNED_HTOD, 5, 205, stream=8, size=SIZE), call="cudaMemcpyAsync")
    compute(trace, 5, 10)


def test_a_pageable_copy_is_found() -> None:
    """Pinned and overlapped, the copy hides behind the 1000 us of kernels."""
    finding = found(blocking_copy, steps(4, 2005, pageable))
    assert finding.step_us_after == pytest.approx(1000, rel=0.01)
    assert finding.step_us_now == pytest.approx(2005, rel=0.01)
    assert finding.cures == ("async-copy",)
    assert "4 of 4 from pageable memory" in finding.claim


def test_the_evidence_gives_sizes_and_speeds() -> None:
    """Copied were 11 MB at 11 GB/s, where the link does 55."""
    finding = found(blocking_copy, steps(4, 2005, pageable))
    assert evidence(finding, "only copies on the GPU") == 995
    assert evidence(finding, "GPU idle after a copy had held the host") == 10
    assert evidence(finding, "copied in the step") == SIZE
    assert evidence(finding, "speed of these copies") == pytest.approx(SIZE / 995 / 1e3)
    assert evidence(finding, "speed of the link") == 55


def test_a_pinned_copy_in_series_is_found() -> None:
    """It runs at the link's speed, but the kernels wait for all of its 200 us."""
    finding = found(blocking_copy, steps(4, 60, in_series, gpu=1200))
    assert (finding.step_us_now, finding.step_us_after) == pytest.approx((1200, 1000), rel=0.01)
    assert finding.cures == ("async-copy",)


def test_an_overlapped_copy_is_not_found() -> None:
    """A copy that runs beside the kernels costs the step nothing."""
    assert find(blocking_copy, steps(4, 60, overlapped, gpu=1000)) is None


def test_a_step_bound_by_the_link_cannot_be_cured() -> None:
    """Copies for 800 us beside 200 us of kernels: at the link's speed already, they stay."""

    def body(trace: Trace) -> None:
        work = copy(PINNED_HTOD, 5, 805, stream=8, size=4 * SIZE)
        trace.launch(0, 4, work, call="cudaMemcpyAsync").launch(5, 9, kernel("k", 10, 210))

    finding = find(blocking_copy, steps(4, 60, body, gpu=800))
    assert finding is None or finding.step_us_after == pytest.approx(800, rel=0.01)


def test_a_large_copy_to_the_host_is_found() -> None:
    """The host is held by a pageable copy back, of 11 MB, in the same way."""

    def body(trace: Trace) -> None:
        compute(trace, 0, 5)
        work = copy(PAGEABLE_DTOH, 1005, 1800, size=SIZE)
        trace.launch(50, 1804, work, call="cudaMemcpyAsync")

    after = found(blocking_copy, steps(4, 1810, body)).step_us_after
    assert after == pytest.approx(1000, rel=0.01)


def test_a_copy_within_the_gpu_is_its_own_work() -> None:
    """Copies from device to device do not cross the link."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, copy(DTOD, 5, 205, size=SIZE), call="cudaMemcpyAsync")
        compute(trace, 5, 205)

    assert find(blocking_copy, steps(4, 60, body, gpu=1200)) is None
