"""What-ifs on the host's side, in closed form on recordings of a few calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.model import Timeline
from tailwave.recordings.replay.change import Change, in_steps, issues, waits
from tailwave.recordings.replay.engine import Run, run
from tailwave.recordings.replay.host_changes import (
    GRAPH_LAUNCH_NS,
    cuda_graph,
    fed,
    host_speed,
    no_sync,
    unstretched,
)
from tests.builders import PAGEABLE_DTOH, PAGEABLE_HTOD, Trace, copy, kernel, steps
from tests.recordings.replay.programs import case_of, program_of

WAIT = "cudaStreamSynchronize"


def _after(timeline: Timeline, change: Change) -> Run:
    case = case_of(timeline)
    return run(change(case, program_of(case)).program)


def _notes(timeline: Timeline, change: Change) -> tuple[str, ...]:
    case = case_of(timeline)
    return change(case, program_of(case)).notes


def _three_launches() -> Trace:
    """Three launches that each find the GPU idle: the kernel starts 5 us after its call."""
    return (
        Trace()
        .step(0, 100)
        .launch(10, 14, kernel("gemm", 15, 25))
        .launch(30, 34, kernel("gemm", 35, 55))
        .launch(60, 64, kernel("norm", 65, 66))
    )


def test_a_graph_launches_a_step_at_once() -> None:
    """One call issues everything; nodes follow by 140 ns and 8% of their time, 320 ns at most."""
    result = _after(_three_launches().build(), cuda_graph)
    assert result.start.tolist() == [5_000, 15_000 + 460, 35_460 + 220]
    assert result.step.tolist() == [36_680]


def test_a_graph_costs_one_launch() -> None:
    """Of the host's work for the step there remains the launch of the graph."""
    case = case_of(_three_launches().build())
    program = cuda_graph(case, program_of(case)).program
    assert program.work.sum() == 0
    assert program.hold.tolist() == [0, GRAPH_LAUNCH_NS, 0, 0, 0]
    assert issues(program).tolist() == [False, True, False, False, False]


def test_what_was_a_graph_keeps_its_gaps() -> None:
    """Nodes of a recorded graph follow each other as they did; the graph's first joins the new."""
    nodes = [kernel("node", 45 + 10 * number, 54.9 + 10 * number) for number in range(3)]
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 14, kernel("gemm", 15, 25))
        .launch(30, 40, *nodes, call="cudaGraphLaunch")
        .build()
    )
    starts = _after(timeline, cuda_graph).start
    assert np.diff(starts).tolist() == [10_460, 10_000, 10_000]


def test_a_graph_keeps_the_order_between_streams() -> None:
    """A node of another stream starts a node's gap after what it depends on."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 14, kernel("a", 15, 35, stream=7))
        .call("cudaStreamWaitEvent", 16, 17)
        .launch(20, 24, kernel("b", 37, 57, stream=8))
        .build()
    )
    assert _after(timeline, cuda_graph).start.tolist() == [5_000, 25_460]


@pytest.mark.parametrize("call", [WAIT, "cudaMalloc", "cudaEventSynchronize", "cudaFree"])
def test_waits_and_allocations_cut_a_graph(call: str) -> None:
    """What a graph cannot hold stays, and a second graph follows it."""
    timeline = (
        Trace()
        .step(0, 200)
        .launch(10, 14, kernel("gemm", 15, 25))
        .launch(30, 34, kernel("gemm", 35, 55))
        .call(call, 36, 58)
        .launch(60, 64, kernel("gemm", 65, 75))
        .launch(80, 84, kernel("gemm", 85, 95))
        .build()
    )
    case = case_of(timeline)
    changed = cuda_graph(case, program_of(case))
    assert issues(changed.program).tolist() == [False, True, False, False, True, False, False]
    # The first graph's two kernels end at 35,460; the call returns 3 us later.
    returned = 35_460 + 3_000
    waiting = case.work[0].activity.tolist().count(1) > 0
    assert waiting
    result = run(changed.program)
    assert result.start.tolist() == [5_000, 15_460, returned + 5_000, returned + 15_460]
    assert changed.notes == (f"a graph cannot hold {call} (1 a step): each cuts it in two",)


def test_a_copy_of_pageable_memory_cuts_a_graph() -> None:
    """A copy that held the host is issued by itself, between two graphs."""
    timeline = (
        Trace()
        .step(0, 300)
        .launch(10, 14, kernel("gemm", 15, 25))
        .launch(
            30,
            100,
            copy(PAGEABLE_HTOD, 40, 98, size=4 << 20),
            call="cudaMemcpyAsync",
        )
        .launch(110, 114, kernel("gemm", 115, 125))
        .build()
    )
    case = case_of(timeline)
    changed = cuda_graph(case, program_of(case))
    assert np.diff(changed.program.rows, axis=1).ravel().tolist() == [0, 1, 1, 1, 0]
    assert "cudaMemcpyAsync" in changed.notes[0]


def test_a_graph_without_cuts_says_nothing() -> None:
    """Where one graph holds the whole step there is nothing to explain."""
    assert _notes(_three_launches().build(), cuda_graph) == ()


def test_a_graph_cut_in_one_step_of_many_says_so() -> None:
    """A cut that is rarer than steps is not rounded to none."""

    def body(trace: Trace) -> None:
        trace.launch(10, 14, kernel("gemm", 15, 25))
        trace.launch(30, 34, kernel("gemm", 35, 45))

    trace = Trace()
    trace.at(0).call("cudaDeviceSynchronize", 50, 55)
    timeline = steps(3, 100, body, trace)
    assert _notes(timeline, cuda_graph) == (
        "a graph cannot hold cudaDeviceSynchronize (1 in 3 steps): each cuts it in two",
    )


def test_lanes_whose_launches_mix_keep_their_own_rows() -> None:
    """Launches of two threads at work at once are not put into one thread's graph."""

    def body(trace: Trace) -> None:
        for start in (0, 100, 200):
            trace.thread("main").op("forward", start, start + 90)
            trace.launch(start + 10, start + 14, kernel("a", start + 15, start + 25))
            trace.thread("other").op("forward", start, start + 90)
            trace.launch(start + 50, start + 54, kernel("b", start + 55, start + 65, stream=8))
        trace.thread("main")

    case = case_of(steps(1, 300, body, Trace()))
    before = program_of(case)
    after = cuda_graph(case, before).program
    assert len(case.lanes) == 2
    assert after.rows.tolist() == before.rows.tolist()


def _fetch() -> Timeline:
    """A step that fetches a value in its middle: an operator, its copy back and its wait."""
    return (
        Trace()
        .step(0, 200)
        .launch(10, 14, kernel("gemm", 15, 45))
        .op("aten::item", 20, 60)
        .launch(24, 30, copy(PAGEABLE_DTOH, 46, 48, size=4), call="cudaMemcpyAsync")
        .call(WAIT, 31, 52)
        .launch(70, 74, kernel("gemm", 75, 95))
        .build()
    )


def test_without_waits_the_fetch_is_gone() -> None:
    """The wait, the operator around it and the copy that it waits for take no time."""
    case = case_of(_fetch())
    changed = no_sync(case, program_of(case)).program
    assert not waits(changed).any()
    assert changed.duration.tolist() == [30_000, 20_000]
    result = run(changed)
    # The second launch comes 10 us (60 to 70) after the operator's beginning, 6 us after the first.
    assert result.action_start[issues(changed)].tolist() == [10_000, 14_000 + 6_000 + 10_000]
    assert result.start.tolist() == [15_000, 45_000 + 1_000]


def test_a_sizeable_copy_back_is_not_a_fetch() -> None:
    """Without waits a copy of much data still runs: its bytes have to be moved."""
    timeline = (
        Trace()
        .step(0, 400)
        .launch(10, 14, kernel("gemm", 15, 45))
        .launch(20, 200, copy(PAGEABLE_DTOH, 46, 190, size=8 << 20), call="cudaMemcpyAsync")
        .call(WAIT, 201, 205)
        .build()
    )
    case = case_of(timeline)
    assert no_sync(case, program_of(case)).program.duration.tolist() == [30_000, 144_000]


def test_waits_after_the_last_step_stay() -> None:
    """What lies outside the steps is left as it was."""
    timeline = (
        Trace().step(0, 100).launch(10, 14, kernel("gemm", 15, 45)).call(WAIT, 120, 130).build()
    )
    case = case_of(timeline)
    before = program_of(case)
    assert waits(before).tolist() == waits(no_sync(case, before).program).tolist()


def test_a_fed_host_has_no_pauses() -> None:
    """An operator that launches nothing, and so starves the GPU, takes no time.

    Nor do the pauses beside it. What is left is the GPU's, and one launch's way to it.
    """

    def body(trace: Trace) -> None:
        trace.op("decode_image", 0, 900)
        trace.launch(910, 914, kernel("gemm", 915, 925))
        trace.launch(924, 928, kernel("gemm", 929, 939))

    timeline = steps(3, 1_000, body, Trace())
    assert _after(timeline, fed).step.tolist() == [25_000, 20_000, 20_000]


def test_a_fed_host_is_warm() -> None:
    """The work before the first calls after a pause is no more than usual before them."""

    def body(trace: Trace) -> None:
        trace.op("decode_image", 0, 900)
        trace.op("aten::mm", 905, 965).launch(960, 964, kernel("gemm", 965, 966))
        for start in range(970, 1_170, 10):
            trace.launch(start, start + 4, kernel("gemm", start + 5, start + 6))

    timeline = steps(2, 1_200, body, Trace())
    case = case_of(timeline)
    changed = fed(case, program_of(case)).program
    first = np.flatnonzero(issues(changed))[0]
    assert changed.work[first].sum() == 6_000


def test_eight_calls_after_a_pause_are_cold() -> None:
    """From the ninth call after a pause on, slow work before a call is the program's own."""

    def body(trace: Trace) -> None:
        trace.op("decode_image", 0, 900)
        for number in range(12):
            start = 910 + 30 * number
            trace.launch(start, start + 4, kernel("gemm", start + 5, start + 6))
        for number in range(40):
            start = 1_270 + 10 * number
            trace.launch(start, start + 4, kernel("gemm", start + 5, start + 6))

    case = case_of(steps(2, 1_700, body, Trace()))
    changed = fed(case, program_of(case)).program
    # None is left before the first call, and 26 before each of the next eleven, where 6 are usual.
    first = int(np.flatnonzero(issues(changed))[0])
    assert changed.work[first : first + 12].sum(axis=1).tolist() == [0] + [6_000] * 7 + [26_000] * 4


def test_unstretched_work_takes_no_time_beyond_the_usual() -> None:
    """A call held up for 2 ms takes what such calls usually take."""

    def body(trace: Trace) -> None:
        for start in range(0, 400, 20):
            trace.launch(start, start + 4, kernel("gemm", start + 5, start + 6))

    trace = Trace()
    steps(2, 400, body, trace)
    body(trace.at(800).step(0, 3_000, 2))
    case = case_of(trace.launch(410, 2_410, kernel("gemm", 2_415, 2_416)).build())
    before = program_of(case)
    after = unstretched(case, before).program
    held = int(np.argmax(before.hold))
    assert before.hold[held] == 2_000_000
    assert after.hold[held] == 4_000


def test_a_faster_host_issues_faster() -> None:
    """Twice as fast, each launch and all work between takes half; the GPU takes as long."""
    result = _after(_three_launches().build(), host_speed(2.0))
    assert result.action_start.tolist() == [0, 5_000, 15_000, 30_000, 33_000]
    assert result.start.tolist() == [10_000, 20_000, 40_000]
    assert result.step.tolist() == [41_000]


def test_a_faster_host_waits_as_long() -> None:
    """A wait ends when the GPU is done, however fast the host is."""
    timeline = (
        Trace().step(0, 100).launch(10, 14, kernel("gemm", 15, 65)).call(WAIT, 20, 68).build()
    )
    result = _after(timeline, host_speed(2.0))
    assert result.action_end.tolist()[2] == 5_000 + 5_000 + 50_000 + 3_000


def test_a_slower_host_takes_longer() -> None:
    """At half the speed the host's work takes twice as long."""
    assert _after(_three_launches().build(), host_speed(0.5)).step.tolist() == [132_000]


def test_an_endlessly_fast_host_leaves_the_gpu() -> None:
    """With no host time at all the step is the GPU's: latency, kernels and their gaps."""
    result = _after(_three_launches().build(), host_speed(float("inf")))
    assert result.step.tolist() == [36_000]


@pytest.mark.parametrize("change", [cuda_graph, no_sync, fed, unstretched, host_speed(2.0)])
def test_a_recording_of_the_gpu_alone_is_left_as_it_is(change: Change) -> None:
    """Where no host was recorded, what-ifs about it change nothing."""
    timeline = Trace().unlaunched(kernel("a", 5, 25), kernel("b", 30, 40)).build()
    assert _after(timeline, change).start.tolist() == [5_000, 30_000]


@pytest.mark.parametrize("change", [cuda_graph, no_sync, fed, unstretched, host_speed(2.0)])
def test_outside_the_steps_nothing_changes(change: Change) -> None:
    """Calls before the first step and after the last keep their work, time and waits."""

    def body(trace: Trace) -> None:
        trace.op("decode_image", 0, 900)
        for start in range(910, 990, 20):
            trace.launch(start, start + 4, kernel("gemm", start + 5, start + 10))

    trace = Trace()
    for origin in (-3_000, 3_000):
        body(trace.at(origin))
        trace.call(WAIT, 991, 995)
    case = case_of(steps(3, 1_000, body, trace))
    before = program_of(case)
    after = change(case, before).program
    outside = ~in_steps(before)
    assert outside.sum() == 10
    assert after.work[outside].tolist() == before.work[outside].tolist()
    assert after.hold[outside].tolist() == before.hold[outside].tolist()
    assert waits(after)[outside].tolist() == waits(before)[outside].tolist()
    assert after.rows[outside].tolist() == before.rows[outside].tolist()
    assert after.gap[before.row_step < 0].tolist() == before.gap[before.row_step < 0].tolist()


@st.composite
def single_streams(draw: st.DrawFn) -> Timeline:
    """Draw steps of launches into one stream, with waits and pauses between them."""
    trace = Trace()
    clock = free = 0
    for number in range(draw(st.integers(1, 3))):
        begun = clock
        for what in draw(st.lists(st.sampled_from(["launch", "wait", "decode"]), max_size=8)):
            low = clock + draw(st.integers(0, 40))
            high = low + draw(st.integers(1, 20))
            if what == "launch":
                start = max(low + draw(st.integers(1, 9)), free)
                free = start + draw(st.integers(1, 60))
                trace.launch(low, high, kernel("gemm", start, free))
            elif what == "wait":
                high = max(high, free + draw(st.integers(0, 9)))
                trace.op("aten::item", low, high + 1).call(WAIT, low, high)
            else:
                high = low + 700
                trace.op("decode_image", low, high)
            clock = high + 1
        start = max(clock + 2, free)
        free = start + 5
        trace.launch(clock, clock + 1, kernel("last", start, free))
        clock += 2
        trace.step(begun, clock, number)
    return trace.build()


@settings(max_examples=100, deadline=None)
@given(
    single_streams(),
    st.sampled_from([no_sync, fed, unstretched, host_speed(1.5), host_speed(100.0)]),
)
def test_less_host_time_never_makes_one_stream_later(timeline: Timeline, change: Change) -> None:
    """In one stream nothing ends later for host time that is taken away."""
    case = case_of(timeline)
    before = program_of(case)
    after = change(case, before).program
    assert (np.cumsum(run(after).step) <= np.cumsum(run(before).step)).all()
