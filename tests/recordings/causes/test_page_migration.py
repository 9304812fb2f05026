"""Kernels or the host wait for pages of managed memory."""

from __future__ import annotations

import pytest

from tailwave.model import Severity
from tailwave.recordings.causes import blocking_copy, page_migration
from tests.builders import Trace, copy, kernel
from tests.recordings.causes.cases import evidence, find, found
from tests.recordings.paging import SIZE, TO_GPU, marked


def faulting(trace: Trace, name: str = TO_GPU, count: int = 10) -> None:
    """A kernel of 1,000 us waits for pages that take 50 us each."""
    trace.launch(0, 4, kernel("k", 5, 1_005))
    trace.call("cudaDeviceSynchronize", 10, 1_010)
    for page in range(count):
        trace.unlaunched(copy(name, 100 + 60 * page, 150 + 60 * page, stream=0, size=SIZE))


def test_pages_that_a_kernel_waits_for_are_found() -> None:
    """The gain is what the what-if says, and the evidence is what moved, and how fast."""
    finding = found(page_migration, marked(1_010, faulting))
    assert (finding.step_us_now, finding.severity) == (1_010, Severity.CRITICAL)
    assert finding.step_us_after == pytest.approx(510, abs=0.1)
    assert finding.cures == ("prefetch-pages", "pinned-copies")
    assert finding.claim == (
        "Pages of managed memory move 10 times a step because they are touched, which costs 50% of "
        "it at least; moved beforehand, 1.01 ms would be 0.510 ms."
    )
    assert evidence(finding, "pages moved, or the GPU dealt with faults") == 500
    assert evidence(finding, "moved to the GPU") == 10 * SIZE
    assert evidence(finding, "speed of these moves") == 11
    assert evidence(finding, "speed of the link") == 55


def test_moved_pages_are_no_copies_that_hold_the_host() -> None:
    """Nobody asked for them: pinned memory alone would not overlap them."""
    assert find(blocking_copy, marked(1_010, faulting)) is None


@pytest.mark.parametrize("why", ["prefetched", "evicted"])
def test_pages_that_nobody_touched_are_no_finding(why: str) -> None:
    """What was asked for beforehand is cured; what has no room, no prefetch cures."""
    timeline = marked(1_010, lambda trace: faulting(trace, f"Memcpy HtoD (managed, {why})"))
    assert find(page_migration, timeline) is None


def test_what_was_not_touched_is_told_beside_what_was() -> None:
    """How much was prefetched already, and how much the GPU had no room for."""

    def body(trace: Trace) -> None:
        faulting(trace)
        trace.unlaunched(
            copy("Memcpy HtoD (managed, prefetched)", 800, 810, stream=0, size=3 * SIZE)
        )
        trace.unlaunched(copy("Memcpy DtoH (managed, evicted)", 820, 830, stream=0, size=2 * SIZE))
        trace.unlaunched(copy("GPU page faults (managed)", 90, 160, stream=-1))

    finding = found(page_migration, marked(1_010, body))
    assert evidence(finding, "prefetched already") == 3 * SIZE
    assert evidence(finding, "evicted for want of room") == 2 * SIZE
    assert evidence(finding, "groups of faults of the GPU") == 1
    assert evidence(finding, "pages moved, or the GPU dealt with faults") == 520


def test_a_few_pages_are_not_worth_a_sentence() -> None:
    """One page of 1 us in a millisecond."""

    def body(trace: Trace) -> None:
        faulting(trace, count=0)
        trace.unlaunched(copy(TO_GPU, 100, 101, stream=0, size=4_096))

    assert find(page_migration, marked(1_010, body)) is None
