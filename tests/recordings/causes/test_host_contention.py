"""Host work is stretched."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import host_contention
from tests.builders import Trace, kernel
from tests.recordings.causes.cases import evidence, find, found


def held(*places: int) -> Timeline:
    """Record steps of ten launches of 4 us, in each of which the launch at a place takes 1004."""
    trace = Trace()
    for number, place in enumerate(places):
        trace.at(1115 * number).step(0, 1115, number)
        for index in range(10):
            late = 1000 if index > place else 0
            took = 1004 if index == place else 4
            at = 5 * index + late
            trace.launch(at, at + took, kernel("k", at + 5, at + 10))
    return trace.build()


def test_work_stretched_at_no_fixed_place_is_found() -> None:
    """Unstretched, 1000 us of the step go; what the pauses and calls take otherwise stays.

    The last of five steps ends with its last kernel, 60 us before the next would begin.
    """
    finding = found(host_contention, held(0, 1, 2, 3, 4))
    assert finding.step_us_now == 1115 - 60 / 5
    assert finding.recoverable_us == pytest.approx(1000, abs=0.5)
    assert finding.cures == ("free-the-gil", "host-threads", "cuda-graph")
    assert "stretched once in a step" in finding.claim
    assert evidence(finding, "GPU idle after stretched host work") == 999
    assert evidence(finding, "cudaLaunchKernel, once") == 1004


def test_work_that_is_long_at_one_place_is_not_stretched() -> None:
    """A call that takes 1 ms at the same place of every step is long by nature."""
    assert find(host_contention, held(3, 3, 3, 3, 3)) is None


def test_steps_alike_are_not_stretched() -> None:
    """Without a stretched call there is nothing to find."""
    assert find(host_contention, held(-1, -1, -1, -1)) is None


def test_what_one_step_of_many_lost_is_found_at_its_share() -> None:
    """The mean step stands for all: of the 1000 us that one of five lost it has 200."""
    trace = Trace()
    begin = 0
    for number in range(5):
        length = 1205 if number == 1 else 205
        trace.at(begin).step(0, length, number)
        for index in range(10):
            took = 1004 if (number, index) == (1, 5) else 4
            late = 1000 if number == 1 and index > 5 else 0
            at = 5 * index + late
            trace.launch(at, at + took, kernel("k", at + 5, at + 10))
        begin += length
    finding = found(host_contention, trace.build())
    assert finding.recoverable_us == pytest.approx(200, abs=0.5)
    assert "stretched 0.2 times in a step" in finding.claim
