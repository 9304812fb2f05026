"""Where a step's time goes: hand-made steps whose division is known to the nanosecond (us).

A launch's work begins 5 us after its call, so the host's time is read 5 us earlier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from msgspec.structs import replace

from tailwave.model import Timeline
from tailwave.recordings.replay.division import Cause, Division, divide
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.ranks import rank_waits
from tests.builders import PAGEABLE_HTOD, Trace, copy, kernel, steps
from tests.recordings.machine import programs
from tests.recordings.replay.programs import case_of


def spent(division: Division, step: int) -> dict[Cause, float]:
    """Give what a step was spent on (us)."""
    return {
        cause: float(division.ns[step, cause]) / 1e3 for cause in Cause if division.ns[step, cause]
    }


def second(length: float, body: Callable[[Trace], object]) -> dict[Cause, float]:
    """Divide the second of three equal steps."""
    return spent(divide(case_of(steps(3, length, body))), 1)


def launched(trace: Trace, at: float, until: float, *, stream: int = 7, begin: float = 0) -> Trace:
    """Launch a kernel from an operator at a moment, to run until another."""
    ran = kernel("k", begin or at + 6, until, stream=stream)
    return trace.op("aten::mm", at, at + 10).launch(at + 1, at + 6, ran)


def test_waiting_for_launches() -> None:
    """Between short kernels the host issues, too slowly."""

    def body(trace: Trace) -> None:
        for at in (0, 25, 50, 75):
            launched(trace, at, at + 11)

    assert second(100, body) == {Cause.KERNEL: 20, Cause.LAUNCH: 80}


def test_issuing_after_a_wait_is_the_waits() -> None:
    """What is issued after a wait could have been issued while it lasted."""

    def body(trace: Trace) -> None:
        launched(trace, 0, 46).call("cudaDeviceSynchronize", 12, 48)
        launched(trace, 50, 96).call("cudaDeviceSynchronize", 62, 98)

    assert second(100, body) == {Cause.KERNEL: 80, Cause.SYNC: 20}


def test_a_short_wait_is_to_blame_for_its_length() -> None:
    """After a wait of 6 us, 6 us of the issuing are its; the rest the host would have taken too."""

    def body(trace: Trace) -> None:
        launched(trace, 0, 16).call("cudaDeviceSynchronize", 12, 18)
        launched(trace, 91, 98)

    assert second(100, body) == {Cause.KERNEL: 11, Cause.SYNC: 12, Cause.LAUNCH: 77}


def test_no_wait_is_to_blame_for_more_than_a_step() -> None:
    """A wait for old work ahead of the steps leaves the later ones to the launches."""
    trace = Trace().op("aten::mm", -5000, -4990).launch(-4999, -4994, kernel("old", -4994, -2))
    trace.step(-5000, 0, 0).call("cudaDeviceSynchronize", -4900, 0)
    for number in range(60):
        launched(trace.at(number * 100).step(0, 100, number + 1), 0, 10)
    division = divide(case_of(trace.build()))
    mean = division.ns.sum() / len(division.ns) / 1e3
    assert division.ns[:, Cause.SYNC].sum() / 1e3 <= mean + 100
    assert spent(division, 50) == {Cause.KERNEL: 4, Cause.LAUNCH: 96}


def test_a_copy_that_held_the_host() -> None:
    """Idle time after a copy of pageable memory is the copy's; its own time is a copy's."""

    def body(trace: Trace) -> None:
        moved = copy(PAGEABLE_HTOD, 46, 456, size=1 << 24)
        launched(trace, 0, 46).op("aten::copy_", 12, 460)
        trace.launch(13, 458, moved, call="cudaMemcpyAsync")
        launched(trace, 470, 500)

    assert second(500, body) == {Cause.KERNEL: 64, Cause.COPY: 410, Cause.BLOCKED_COPY: 26}


def test_a_host_that_launches_nothing() -> None:
    """A long operator that launches nothing starves the GPU for as long as the GPU idles in it."""

    def body(trace: Trace) -> None:
        launched(trace, 0, 46).op("aten::sort", 12, 5000)
        launched(trace, 5000, 5040)

    assert second(5050, body) == {Cause.KERNEL: 74, Cause.STARVED: 4959, Cause.LAUNCH: 17}


def test_start_up() -> None:
    """Idle time while a module is loaded is the program's start."""
    trace = Trace().step(0, 30_100)
    launched(trace, 0, 46).op("aten::mm", 11, 30_011).call("cuModuleLoadData", 12, 30_000)
    trace.launch(30_001, 30_006, kernel("b", 30_006, 30_050))
    found = spent(divide(case_of(trace.build())), 0)
    assert found[Cause.STARTUP] == pytest.approx(29_960, rel=0.01)


@pytest.mark.parametrize(
    ("late", "cause"), [(60, Cause.LATENCY), (100, Cause.LATENCY), (160, Cause.QUEUED)]
)
def test_work_that_has_arrived_and_does_not_begin(late: float, cause: Cause) -> None:
    """Up to 100 us the GPU switches to it; beyond, something kept it that is not recorded."""

    def body(trace: Trace) -> None:
        launched(trace, 0, 46)
        launched(trace, 30, 300, begin=46 + late)

    # A first kernel in each step shows that a launch takes 5 us.
    found = second(300, body)
    assert found[cause] == late
    assert {Cause.LATENCY, Cause.QUEUED, Cause.GRAPH} & set(found) == {cause}


def test_a_hole_before_a_node_of_a_graph() -> None:
    """No launch is waited for within a graph: the graph itself holds what takes that time."""

    def body(trace: Trace) -> None:
        nodes = kernel("a", 10, 30), kernel("b", 230, 260), kernel("c", 261, 290)
        trace.launch(1, 10, *nodes, call="cudaGraphLaunch")

    found = second(300, body)
    assert (found[Cause.GRAPH], found[Cause.LATENCY], found[Cause.KERNEL]) == (200, 1, 79)


def test_the_gap_at_the_end_of_a_step() -> None:
    """The step that has the gap has its time, whatever the next step's first kernel waited for."""

    def body(trace: Trace) -> None:
        launched(trace, 0, 46).op("aten::sort", 12, 300)

    assert second(300, body) == {Cause.KERNEL: 40, Cause.STARVED: 259, Cause.LAUNCH: 1}


def test_the_lane_that_launched_is_to_blame() -> None:
    """A kernel that another thread launches waits for that thread's work."""

    def body(trace: Trace) -> None:
        launched(trace.thread("main"), 0, 46)
        launched(trace.thread("other").op("aten::sort", 0, 140), 150, 200, stream=8)
        trace.thread("main")

    found = second(200, body)
    assert (found[Cause.KERNEL], found[Cause.STARVED]) == (84, 99)


def test_pages_that_move() -> None:
    """Migrating pages are no copies, and the gap before them is what the host did meanwhile."""

    def body(trace: Trace) -> None:
        moved = copy("Memcpy HtoD (managed)", 60, 80, size=1 << 16)
        launched(trace, 0, 46).unlaunched(moved)
        launched(trace, 90, 100)

    assert second(100, body) == {Cause.KERNEL: 44, Cause.MIGRATION: 20, Cause.LAUNCH: 36}


def ranked(rank: int, late: float) -> Timeline:
    """Record three steps in which a rank enters a collective at a moment, which ends at 900."""
    trace = Trace(rank=rank)
    for number in range(3):
        launched(trace.at(number * 1000).step(0, 1000, number), 0, 106)
        reduced = kernel("ncclDevKernel_AllReduce", late, 900)
        launched(trace.launch(late - 5, late, reduced), 989, 1000)
    return trace.build()


def cases_of_ranks() -> list[Case]:
    """Prepare two ranks, of which the second is 400 us late."""
    cases = [case_of(ranked(0, 200)), case_of(ranked(1, 600))]
    waits = rank_waits([case.timeline for case in cases])
    return [replace(case, rank_waits=waits, place=place) for place, case in enumerate(cases)]


def test_waiting_for_another_rank() -> None:
    """A collective's time before the last rank has begun it is waiting, on the others."""
    early, late = (spent(divide(case), 1) for case in cases_of_ranks())
    assert (early[Cause.RANKS], early[Cause.COLLECTIVE]) == (400, 300)
    assert (late.get(Cause.RANKS, 0), late[Cause.COLLECTIVE]) == (0, 300)


@given(programs())
def test_every_nanosecond_is_in_one_cause(timeline: Timeline) -> None:
    """Whatever the program, each step's causes add up to the step, and none is below 0."""
    case = case_of(timeline)
    division = divide(case)
    assert np.array_equal(division.ns.sum(axis=1), case.steps.duration)
    assert division.ns.min() >= 0
