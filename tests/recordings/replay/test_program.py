"""A recording becomes a program that gives the recorded times back when it is run."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwave.model import Timeline
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.program import (
    Dependency,
    same,
)
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.launches import DEFAULT_LATENCY_NS
from tests.builders import PAGEABLE_HTOD, PINNED_DTOH, Trace, copy, kernel, steps
from tests.recordings.replay.programs import Action, Row, begin, case_of, program, program_of

WAIT = "cudaStreamSynchronize"


def _two_kernels_and_a_wait() -> Timeline:
    return (
        Trace()
        .step(0, 100)
        .launch(10, 15, kernel("gemm", 18, 30))
        .launch(20, 25, kernel("gemm", 31, 60))
        .call(WAIT, 40, 63)
        .step(100, 130, 1)
        .launch(110, 115, kernel("gemm", 118, 120))
        .build()
    )


def test_actions_are_launches_waits_and_step_boundaries() -> None:
    """Of the host remain the calls that order the GPU's work, with the time between them."""
    compiled = program_of(case_of(_two_kernels_and_a_wait()))
    assert compiled.mark.tolist() == [0, -1, -1, -1, 1, -1, 2]
    assert compiled.work.sum(axis=1).tolist() == [0, 10_000, 5_000, 15_000, 37_000, 10_000, 5_000]
    assert compiled.hold.tolist() == [0, 5_000, 5_000, 5_000, 0, 5_000, 0]
    assert compiled.rows.tolist() == [[0, 0], [0, 1], [1, 2], [2, 2], [2, 2], [2, 3], [3, 3]]


def test_a_launch_that_finds_the_gpu_idle_keeps_its_latency() -> None:
    """Where the launch was binding, the row starts as long after it as recorded."""
    compiled = program_of(case_of(_two_kernels_and_a_wait()))
    assert compiled.latency.tolist()[0] == 8_000
    assert compiled.latency.tolist()[2] == 8_000


def test_a_queued_row_keeps_its_gap_and_gets_the_usual_latency() -> None:
    """Where the stream was binding, the row starts as long after its predecessor as recorded."""
    compiled = program_of(case_of(_two_kernels_and_a_wait()))
    assert compiled.gap.tolist()[1] == 1_000
    assert compiled.latency.tolist()[1] == 8_000


def test_a_wait_is_for_the_row_that_ended_before_it_returned() -> None:
    """A call that waits keeps the row it waited for, and the time it took to notice."""
    compiled = program_of(case_of(_two_kernels_and_a_wait()))
    assert compiled.targets.tolist()[3] == [0, 1]
    assert compiled.target_row.tolist() == [1]
    assert compiled.target_lag.tolist() == [3_000]


def test_a_wait_that_found_its_work_done_keeps_it() -> None:
    """In a changed run the work may end later; noticing it takes 5 us, as is typical."""
    timeline = Trace().step(0, 100).launch(1, 3, kernel("gemm", 5, 10)).call(WAIT, 50, 52).build()
    compiled = program_of(case_of(timeline))
    assert compiled.target_row.tolist() == [0]
    assert compiled.target_lag.tolist() == [5_000]
    assert compiled.hold.tolist() == [0, 2_000, 2_000, 0]


def test_host_time_is_kept_by_activity() -> None:
    """Time that the host lost is told from the time it spent issuing."""
    timeline = (
        Trace()
        .step(0, 2_000)
        .op("aten::item", 0, 100)
        .call(WAIT, 50, 90)
        .launch(110, 115, kernel("gemm", 120, 130))
        .op("decode_image", 120, 1_490)
        .launch(1_500, 1_505, kernel("gemm", 1_510, 1_520))
        .launch(1_510, 1_515, kernel("gemm", 1_522, 1_530))
        .step(2_000, 4_000, 1)
        .op("aten::item", 2_000, 2_100)
        .call(WAIT, 2_050, 2_090)
        .launch(2_110, 2_115, kernel("gemm", 2_120, 2_130))
        .op("decode_image", 2_120, 3_490)
        .launch(3_500, 3_505, kernel("gemm", 3_510, 3_520))
        .launch(3_510, 3_515, kernel("gemm", 3_522, 3_530))
        .build()
    )
    compiled = program_of(case_of(timeline))
    wait, launch, late = 1, 2, 3
    assert compiled.work[wait, Activity.SYNC] == 50_000
    assert compiled.work[launch, Activity.SYNC] == 10_000
    assert compiled.work[launch, Activity.ISSUE] == 10_000
    assert compiled.work[late, Activity.STARVED] == 1_385_000


def test_what_the_recorder_logged_is_counted_for_each_action() -> None:
    """Operators, runtime calls and Python frames since the action before, for their cost."""
    timeline = (
        Trace()
        .step(0, 100)
        .op("aten::linear", 1, 40)
        .op("aten::mm", 2, 39)
        .frame("model.py(1): forward", 3, 38)
        .call("cudaGetDevice", 4, 5)
        .launch(10, 15, kernel("gemm", 18, 30))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.logged.tolist() == [[0, 0, 0], [2, 2, 1], [0, 0, 0]]


def test_a_row_waits_for_the_stream_that_the_host_joined_to_its_own() -> None:
    """An event makes the next row depend on the last one of the other stream."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 15, kernel("a", 20, 50, stream=7))
        .call("cudaStreamWaitEvent", 16, 17)
        .launch(18, 20, kernel("b", 52, 60, stream=8))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.dep.tolist() == [-1, 0]
    assert compiled.dep_kind.tolist() == [Dependency.NONE, Dependency.EVENT]
    assert compiled.dep_lag.tolist() == [0, 2_000]


def test_a_join_that_was_not_binding_is_kept() -> None:
    """A join whose other side was long done can become binding in a changed run."""
    timeline = (
        Trace()
        .step(0, 200)
        .launch(10, 15, kernel("a", 20, 50, stream=7))
        .call("cudaStreamWaitEvent", 16, 17)
        .launch(100, 105, kernel("b", 110, 120, stream=8))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.dep.tolist() == [-1, 0]
    assert run(compiled).start.tolist() == [20_000, 110_000]


def test_without_joins_a_late_row_was_held_by_the_other_stream() -> None:
    """A row that starts when another stream's row ends was held by it, be it issued later."""
    timeline = (
        Trace()
        .step(0, 300)
        .launch(10, 15, kernel("mine", 20, 30, stream=7))
        .launch(30, 35, kernel("mine", 202, 212, stream=7))
        .launch(40, 45, kernel("hog", 50, 200, stream=8))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.dep.tolist() == [-1, 2, -1]
    assert compiled.dep_kind.tolist()[1] == Dependency.HOLDER
    assert run(compiled).start.tolist() == [20_000, 202_000, 50_000]


def test_rows_without_length_at_one_moment_do_not_wait_for_each_other() -> None:
    """What ended when it began is waited for by what comes after it alone."""
    rows = (kernel("a", 18, 18, stream=8), kernel("b", 18, 18, stream=7))
    trace = Trace().step(0, 100).launch(1, 2, kernel("first", 1, 2, stream=9))
    timeline = trace.launch(2, 3, *rows).build()
    assert run(program_of(case_of(timeline))).start.tolist() == [1_000, 18_000, 18_000]


def test_work_launched_before_the_recording_comes_first() -> None:
    """Rows whose launch is not recorded are in their streams from the start."""
    timeline = (
        Trace()
        .unlaunched(kernel("old", 2, 12), kernel("old", 13, 20))
        .step(0, 100)
        .launch(10, 15, kernel("new", 21, 30))
        .build()
    )
    compiled = program_of(case_of(timeline))
    assert compiled.issue.tolist() == [2_000, -1, -1]
    assert run(compiled).start.tolist() == [2_000, 13_000, 21_000]


def test_a_call_cut_short_by_another_still_issues_its_work_on_time() -> None:
    """Calls that the recorder lets overlap are cut, and their work starts as recorded."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 40)
        .launch(12, 30, kernel("gemm", 50, 60), call="cuLaunchKernel")
        .build()
    )
    assert run(program_of(case_of(timeline))).start.tolist() == [50_000]


def test_a_recording_of_the_gpu_alone_replays() -> None:
    """Without any host event the GPU's work is issued up front and keeps its recorded times."""
    timeline = Trace().unlaunched(kernel("a", 5, 25), kernel("b", 30, 40)).build()
    case = case_of(timeline)
    result = run(program_of(case))
    assert result.start.tolist() == [5_000, 30_000]
    assert result.step.tolist() == case.steps.duration.tolist() == [35_000]


def test_the_default_latency_serves_where_none_was_seen() -> None:
    """Where no launch ever found the GPU idle, launches take the default time to arrive."""
    timeline = (
        Trace()
        .unlaunched(kernel("old", 1, 90))
        .step(0, 200)
        .launch(10, 15, kernel("new", 91, 95))
        .build()
    )
    assert program_of(case_of(timeline)).latency.tolist() == [0, DEFAULT_LATENCY_NS]


def test_another_gpus_work_does_not_complete_a_step() -> None:
    """Rows of a second GPU are replayed, but steps are those of the GPU looked at."""
    timeline = (
        Trace()
        .step(0, 100)
        .launch(10, 15, kernel("mine", 20, 90))
        .launch(20, 25, kernel("other", 30, 95, device=1))
        .launch(96, 98, kernel("other", 99, 160, device=1))
        .build()
    )
    case = case_of(timeline)
    compiled = program_of(case)
    assert compiled.counts.tolist() == (timeline.gpu.device == case.device.index).tolist()
    assert run(compiled).step.tolist() == case.steps.duration.tolist()


def test_rows_can_be_left_out() -> None:
    """What named a row that is left out, an action's bounds included, forgets it."""
    whole = program(
        Row(10, latency=5),
        Row(20, latency=5, stream=1),
        Row(30, latency=5, dep=1, dep_lag=7),
        actions=(
            begin(0),
            Action(issues=2, waits=((0, 1), (1, 2))),
            Action(issues=1),
            begin(1),
        ),
    )
    left = whole.keep_rows(np.array([True, False, True]))
    assert left.duration.tolist() == [10, 30]
    assert left.dep.tolist() == [-1, -1]
    assert left.rows.tolist() == [[0, 0], [0, 1], [1, 2], [2, 2]]
    assert left.targets.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]
    assert (left.target_row.tolist(), left.target_lag.tolist()) == ([0], [1])


def test_rows_left_out_renumber_those_that_stay() -> None:
    """Dependencies and waits follow the rows that they name, the first included."""
    whole = program(
        Row(10),
        Row(20),
        Row(30, stream=1, dep=1),
        Row(40, stream=2, dep=0),
        actions=(begin(0), Action(issues=4, waits=((2, 4),)), begin(1)),
    )
    left = whole.keep_rows(np.array([False, True, True, True]))
    assert left.dep.tolist() == [-1, 0, -1]
    assert left.target_row.tolist() == [1]
    kept = whole.keep_rows(np.array([True, False, True, True]))
    assert kept.dep.tolist() == [-1, -1, 0]


def test_programs_are_the_same_when_every_column_is() -> None:
    """One different duration makes another program."""
    one = program(Row(10), actions=(begin(0), Action(issues=1), begin(1)))
    other = msgspec.structs.replace(one, duration=one.duration + 1)
    assert same(one, msgspec.structs.replace(one, duration=one.duration.copy()))
    assert not same(one, other)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Draw a recording as hosts and GPUs make them: calls one after the other, streams in order.

    Up to three streams and two threads, waits, allocations, joins, copies and graphs; times in
    whole microseconds.
    """
    trace = Trace()
    free = dict.fromkeys(range(draw(st.integers(1, 3))), 0)
    threads = draw(st.integers(1, 2))
    clock = called = 0
    for number in range(draw(st.integers(1, 3))):
        begun = clock
        clocks = [begun] * threads
        for _ in range(draw(st.integers(1, 6))):
            thread = draw(st.integers(0, threads - 1))
            # No two calls begin at once, so that the order of issue is known.
            low = called = max(clocks[thread], called + 1) + draw(st.integers(0, 60))
            high = low + draw(st.integers(1, 20))
            what = draw(st.sampled_from(["kernel", "kernel", "copy", "graph", WAIT, "op", "join"]))
            trace.thread(f"thread {thread}")
            if what == WAIT:
                high = max(high, max(free.values()) + draw(st.integers(0, 10)))
                trace.call(WAIT, low, high)
            elif what == "op":
                trace.op("aten::view", low, high)
            elif what == "join":
                trace.call("cudaStreamWaitEvent", low, high)
            else:
                rows = []
                for _ in range(3 if what == "graph" else 1):
                    stream = draw(st.sampled_from(sorted(free)))
                    start = max(low + draw(st.integers(0, 30)), free[stream])
                    free[stream] = start + draw(st.integers(0, 40))
                    rows.append((stream, start, free[stream]))
                if what == "copy":
                    size = draw(st.sampled_from([4, 2 << 20]))
                    stream, start, end = rows[0]
                    moved = copy(PAGEABLE_HTOD, start, end, stream=stream, size=size)
                    trace.launch(low, high, moved, call="cudaMemcpyAsync")
                else:
                    work = [kernel("gemm", a, b, stream=s, grid=40) for s, a, b in rows]
                    trace.launch(low, high, *work)
            clocks[thread] = high
        clock = max(clocks) + draw(st.integers(0, 10))
        trace.thread("thread 0").step(begun, clock, number)
    # The last step's own kernel, so that no recording is empty.
    trace.launch(clock, clock + 1, kernel("last", max(clock, *free.values()), clock + 900))
    return trace.step(clock, clock + 2, 9).build()


@settings(max_examples=150, deadline=None)
@given(timelines())
def test_a_recording_replays_to_itself(timeline: Timeline) -> None:
    """Whatever was recorded, an unchanged program gives every start and every step back."""
    case = case_of(timeline)
    compiled = program_of(case)
    result = run(compiled)
    assert result.start.tolist() == case.timeline.gpu.start[compiled.row].tolist()
    assert result.end.tolist() == case.timeline.gpu.end[compiled.row].tolist()
    assert result.step.tolist() == case.steps.duration.tolist()


def test_steps_of_several_streams_and_a_fetch_replay_to_themselves() -> None:
    """A step with a copy back, a wait and two streams is given back to the nanosecond."""

    def body(trace: Trace) -> None:
        trace.launch(5, 9, kernel("a", 12, 50, stream=7))
        trace.launch(11, 14, kernel("b", 16, 60, stream=8))
        trace.launch(20, 70, copy(PINNED_DTOH, 62, 65, size=4), call="cudaMemcpyAsync")
        trace.call(WAIT, 71, 75)

    case = case_of(steps(4, 100, body, Trace()))
    compiled = program_of(case)
    assert run(compiled).step.tolist() == case.steps.duration.tolist() == [100_000] * 3 + [75_000]
