"""What a line of host activity did at each moment: issue, wait, copy, starve, be stretched."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import Timeline
from tailwave.recordings.timeline.hostwork import Activity, HostWork, host_work
from tailwave.recordings.timeline.lanes import build_lanes
from tailwave.recordings.timeline.steps import find_steps
from tests.builders import PAGEABLE_DTOH, PAGEABLE_HTOD, PINNED_HTOD, Trace, copy, kernel, steps

MB = 1 << 20


def work_of(timeline: Timeline) -> HostWork:
    """Give the work of the only lane."""
    (lane,) = build_lanes(timeline)
    return host_work(timeline, [lane], find_steps(timeline))[0]


def lost(timeline: Timeline) -> list[tuple[float, float, Activity]]:
    """List what was not issuing (us), neighbours of one kind merged."""
    work = work_of(timeline)
    found: list[tuple[float, float, Activity]] = []
    for start, end, kind in zip(work.start / 1e3, work.end / 1e3, work.activity, strict=True):
        if kind == Activity.ISSUE:
            continue
        if found and found[-1][1:] == (start, kind):
            found[-1] = (found[-1][0], float(end), Activity(kind))
        else:
            found.append((float(start), float(end), Activity(kind)))
    return found


def launches(trace: Trace, begin: float, count: int = 10, *, took: float = 5) -> Trace:
    """Issue kernels every 10 us."""
    for number in range(count):
        at = begin + 10 * number
        trace.launch(at, at + took, kernel("k", at + 8, at + 12))
    return trace


def test_issuing_is_nothing_lost() -> None:
    """Operators, launches and the short pauses between them are issuing."""
    trace = Trace().step(0, 100)
    for number in range(10):
        trace.op("aten::mm", 10 * number, 10 * number + 8)
    assert lost(launches(trace, 0).build()) == []


def test_a_synchronize_is_a_wait() -> None:
    """A call that waits for the GPU is a wait for as long as it lasts."""
    trace = launches(Trace().step(0, 300), 0).call("cudaDeviceSynchronize", 110, 210)
    assert lost(launches(trace, 220, 8).build()) == [(110, 210, Activity.SYNC)]


def test_an_operator_that_only_fetches_a_value_is_a_wait() -> None:
    """All of aten::item is a wait: it is there for the value alone."""
    trace = launches(Trace().step(0, 300), 0)
    trace.op("aten::item", 110, 230).op("aten::_local_scalar_dense", 112, 228)
    trace.launch(115, 120, copy(PAGEABLE_DTOH, 122, 123, size=4), call="cudaMemcpyAsync")
    trace.call("cudaStreamSynchronize", 121, 225)
    assert lost(launches(trace, 240, 6).build()) == [(110, 230, Activity.SYNC)]


def test_what_prepares_a_wait_belongs_to_it() -> None:
    """Operators just before a wait that launch nothing pick the value: they are part of it."""
    trace = launches(Trace().step(0, 300), 0).op("aten::select", 104, 108)
    trace.op("aten::item", 110, 230).call("cudaStreamSynchronize", 121, 225)
    assert lost(launches(trace, 240, 6).build()) == [(104, 230, Activity.SYNC)]


@pytest.mark.parametrize(
    ("before", "since"),
    [
        ([("aten::cat", 104, 300)], 306),  # it works by itself: 0.2 ms
        ([("aten::unsqueeze", 104, 106)], 104),  # the pause of 0.2 ms is Python's own
        ([("aten::stack", 104, 300), ("aten::cat", 106, 298)], 306),
        ([("aten::cat", 104, 300), ("aten::select", 301, 303)], 301),
        ([("aten::cat", 104, 295), ("aten::stack", 96, 304)], 306),
        ([("aten::stack", 104, 300), ("aten::select", 290, 292)], 306),  # within the long one
        ([("aten::stack", 104, 306), ("aten::select", 290, 292)], 306),
        ([("aten::cat", 104, 204)], 104),  # no longer than what issuing takes
    ],
)
def test_what_made_a_batch_is_no_part_of_copying_it(
    before: list[tuple[str, float, float]], since: float
) -> None:
    """An operator that works on the host by itself is starvation, not the copy's preparation."""
    trace = launches(Trace().step(0, 900), 0)
    for name, begin, end in before:
        trace.op(name, begin, end)
    trace.op("aten::copy_", 306, 600)
    trace.launch(310, 590, copy(PAGEABLE_HTOD, 320, 590, size=8 * MB), call="cudaMemcpyAsync")
    found = [
        stretch for stretch in lost(launches(trace, 620).build()) if stretch[2] == Activity.COPY
    ]
    assert found == [(since, 600, Activity.COPY)]


def test_an_operator_that_issued_prepares_no_wait() -> None:
    """It began before its launch did: what follows it may prepare the wait."""
    trace = launches(Trace().step(0, 300), 0).op("aten::mm", 100, 107)
    trace.launch(101, 105, kernel("gemm", 110, 115)).op("aten::select", 107, 109)
    trace.op("aten::item", 110, 230).call("cudaStreamSynchronize", 121, 225)
    assert lost(launches(trace, 240, 6).build()) == [(107, 230, Activity.SYNC)]


def test_an_operator_that_computes_after_it_waited_is_no_wait() -> None:
    """Nor does it prepare the call that it encloses."""
    trace = launches(Trace().step(0, 500), 0).op("aten::nonzero", 110, 330)
    trace.call("cudaStreamSynchronize", 121, 225).launch(230, 235, kernel("count", 240, 245))
    assert lost(launches(trace, 340, 6).build()) == [(121, 225, Activity.SYNC)]


def test_an_operator_of_another_thread_prepares_no_wait() -> None:
    """A backward pass runs in a thread of its own while the main one waits for it."""
    trace = launches(Trace().step(0, 400), 0)
    trace.thread("backward").op("aten::view", 104, 106).thread("main").op("aten::item", 110, 230)
    trace.call("cudaStreamSynchronize", 121, 225)
    trace = launches(trace.thread("backward"), 240, 6).thread("main")
    assert lost(trace.build()) == [(110, 230, Activity.SYNC)]


@pytest.mark.parametrize("since", [612, 806])
def test_a_copy_is_not_prepared_before_a_long_pause(since: float) -> None:
    """Nor before one of just half a millisecond."""
    trace = launches(Trace().step(0, 1300), 0).op("aten::view", 110, 112)
    trace.op("aten::copy_", since, 1100)
    trace.launch(810, 1090, copy(PAGEABLE_HTOD, 820, 1090, size=8 * MB), call="cudaMemcpyAsync")
    found = lost(launches(trace, 1120).build())
    assert found[-1] == (since, 1100, Activity.COPY)


def test_a_batch_is_not_prepared_before_a_long_pause() -> None:
    """More than half a millisecond without a call is not the copy's: the host did other things."""
    trace = launches(Trace().step(0, 1300), 0).op("aten::view", 110, 112)
    trace.op("aten::copy_", 806, 1100)
    trace.launch(810, 1090, copy(PAGEABLE_HTOD, 820, 1090, size=8 * MB), call="cudaMemcpyAsync")
    found = lost(launches(trace, 1120).build())
    assert found == [(95, 806, Activity.STARVED), (806, 1100, Activity.COPY)]


def test_what_the_loader_does_is_no_part_of_a_copy() -> None:
    """However short its operators are; what follows it may be."""
    trace = launches(Trace().step(0, 900), 0)
    trace.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 104, 290)
    trace.op("aten::stack", 200, 250).op("aten::view", 292, 294).op("aten::copy_", 306, 600)
    trace.launch(310, 590, copy(PAGEABLE_HTOD, 320, 590, size=8 * MB), call="cudaMemcpyAsync")
    assert lost(launches(trace, 620).build()) == [
        (104, 290, Activity.STARVED),
        (292, 600, Activity.COPY),
    ]


def test_a_copy_that_follows_the_loader_at_once_is_prepared_by_nothing() -> None:
    """The loader's last operator ended with it, and an earlier loader's is no nearer."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    trace = launches(Trace().step(0, 900).annotation(loader, 0, 20), 30, 7)
    trace.annotation(loader, 104, 306).op("aten::stack", 290, 300).op("aten::copy_", 306, 600)
    trace.launch(310, 590, copy(PAGEABLE_HTOD, 320, 590, size=8 * MB), call="cudaMemcpyAsync")
    assert lost(launches(trace, 620).build())[-2:] == [
        (104, 306, Activity.STARVED),
        (306, 600, Activity.COPY),
    ]


def test_an_operator_that_also_computes_is_no_wait() -> None:
    """In aten::nonzero, which launches kernels, only the call that waits is a wait."""
    trace = launches(Trace().step(0, 300), 0).op("aten::nonzero", 110, 230)
    trace.launch(112, 117, kernel("count", 120, 125)).call("cudaStreamSynchronize", 121, 225)
    assert lost(launches(trace, 240, 6).build()) == [(121, 225, Activity.SYNC)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaMalloc", [(110, 150, Activity.SYNC)]),
        ("cudaFree", [(110, 150, Activity.SYNC)]),
        ("cudaMallocAsync", []),
        ("cudaStreamWaitEvent", []),
        ("cudaEventRecordWithFlags", []),
        ("cudaFuncSetAttribute", []),
    ],
)
def test_an_allocation_that_stops_the_device_is_a_wait(
    name: str, kind: list[tuple[float, float, Activity]]
) -> None:
    """A cudaMalloc or cudaFree holds the host; what is ordered by the stream does not."""
    trace = launches(Trace().step(0, 300), 0).call(name, 110, 150)
    assert lost(launches(trace, 160).build()) == kind


@pytest.mark.parametrize(
    ("name", "size", "kind"),
    [
        (PAGEABLE_HTOD, 8 * MB, [(110, 310, Activity.COPY)]),
        (PAGEABLE_DTOH, 8 * MB, [(110, 310, Activity.COPY)]),
        (PAGEABLE_HTOD, 512, []),
        (PINNED_HTOD, 8 * MB, []),
    ],
)
def test_a_sizeable_pageable_copy_holds_the_host(
    name: str, size: int, kind: list[tuple[float, float, Activity]]
) -> None:
    """The driver stages pageable memory: the whole operator of the copy is held by it."""
    trace = launches(Trace().step(0, 500), 0).op("aten::copy_", 110, 310)
    trace.launch(115, 300, copy(name, 120, 300, size=size), call="cudaMemcpyAsync")
    assert lost(launches(trace, 320).build()) == kind


@pytest.mark.parametrize("name", ["cudaMemcpy", "hipMemcpyWithStream"])
def test_a_synchronous_copy_of_a_value_is_a_wait(name: str) -> None:
    """A few bytes fetched without Async: the host waits for all that the GPU has yet to do."""
    trace = launches(Trace().step(0, 500), 0).op("aten::item", 108, 310)
    trace.launch(110, 310, copy(PAGEABLE_DTOH, 305, 306, size=8), call=name)
    assert lost(launches(trace, 320).build()) == [(108, 310, Activity.SYNC)]


def _fetched_after(pause: float, copied: str = PAGEABLE_DTOH, held: float = 0) -> Timeline:
    """Launches up to 95 us, and after a pause a copy with the wait for it; no operators."""
    at = 95 + pause
    trace = launches(Trace().step(0, at + held + 130), 0)
    trace.launch(at, at + 5, copy(copied, at + 10, at + 11, size=8), call="cudaMemcpyAsync")
    trace.call("cudaStreamSynchronize", at + 5 + held, at + 20 + held)
    return launches(trace, at + 30 + held).build()


def test_without_operators_a_fetch_is_the_copy_and_the_wait() -> None:
    """A recorder of CUDA alone does not see the operator that fetches a value."""
    assert lost(_fetched_after(40)) == [(135, 155, Activity.SYNC)]


def test_without_operators_a_copy_to_the_gpu_prepares_no_wait() -> None:
    """Only what fetches a value is for the sake of the wait."""
    assert lost(_fetched_after(40, PINNED_HTOD)) == [(140, 155, Activity.SYNC)]


def test_without_operators_a_long_pause_before_a_fetch_stays_starvation() -> None:
    """Half a millisecond without a call may be the input pipeline's."""
    assert lost(_fetched_after(600)) == [
        (95, 695, Activity.STARVED),
        (695, 715, Activity.SYNC),
    ]


def test_without_operators_a_wait_long_after_a_copy_is_no_fetch() -> None:
    """What the host does between a copy and the wait for it may be anything."""
    assert lost(_fetched_after(40, held=600)) == [
        (140, 740, Activity.STARVED),
        (740, 755, Activity.SYNC),
    ]


def test_a_long_pause_is_starvation() -> None:
    """More than half a millisecond between two calls is not the interpreter's."""
    trace = launches(launches(Trace().step(0, 1000), 0), 800)
    assert lost(trace.build()) == [(95, 800, Activity.STARVED)]


@pytest.mark.parametrize(("next_at", "starved"), [(595, 0), (595.002, 1)])
def test_half_a_millisecond_between_calls_is_issuing(next_at: float, starved: int) -> None:
    """Python takes its time between two operators."""
    trace = launches(launches(Trace().step(0, 700), 0), next_at)
    assert [kind for _, _, kind in lost(trace.build())] == [Activity.STARVED] * starved


@pytest.mark.parametrize("waits", [0, 1])
def test_operators_that_launch_nothing_count_together(waits: int) -> None:
    """Preprocessing may be many short operators, and Python between them."""
    trace = launches(Trace().step(0, 1000), 0)
    for number in range(60):
        trace.op("aten::add", 100 + 10 * number, 106 + 10 * number)
    if waits:
        trace.op("aten::item", 700, 710).call("cudaStreamSynchronize", 702, 708)
    expected = [(95, 700, Activity.STARVED), (700, 710, Activity.SYNC)][: 1 + waits]
    assert lost(launches(trace, 710 if waits else 700).build()) == expected


def test_what_a_copying_operator_computes_first_is_starvation() -> None:
    """A conversion on the CPU is work of its own, also within the operator that copies."""
    trace = launches(Trace().step(0, 900), 0).op("aten::to", 100, 400).op("aten::copy_", 101, 390)
    trace.op("aten::convert", 102, 303)
    trace.launch(305, 380, copy(PAGEABLE_HTOD, 306, 380, size=512), call="cudaMemcpyAsync")
    trace.call("cudaStreamSynchronize", 381, 388)
    assert lost(launches(trace, 410).build()) == [
        (100, 102, Activity.SYNC),
        (102, 303, Activity.STARVED),
        (303, 400, Activity.SYNC),
    ]


def test_a_pause_before_the_first_call_of_a_step_is_seen() -> None:
    """A step that begins with its input pipeline starves from its first moment."""
    trace = launches(Trace().step(0, 2000), 900, 110)
    assert lost(trace.build()) == [(0, 900, Activity.STARVED)]


def test_a_long_operator_that_issues_nothing_is_starvation() -> None:
    """Preprocessing on the CPU is work of the host, but not for the GPU."""
    trace = launches(Trace().step(0, 500), 0).op("aten::normal_", 110, 310)
    assert lost(launches(trace, 320).build()) == [(110, 310, Activity.STARVED)]


def test_the_data_loader_is_starvation_however_short() -> None:
    """The framework marks its loader, so no threshold is needed."""
    trace = launches(Trace().step(0, 500), 0)
    trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 110, 150)
    assert lost(launches(trace, 160).build()) == [(110, 150, Activity.STARVED)]


def test_a_pause_within_the_optimiser_is_issuing() -> None:
    """An optimiser gathers its parameters in Python before it launches anything."""
    trace = launches(Trace().step(0, 1000), 0).annotation("Optimizer.step#Adam.step", 100, 900)
    assert lost(launches(trace, 800).build()) == []


def test_a_loader_that_copies_is_held_by_the_copy() -> None:
    """What a loader waits for is told as it is anywhere else."""
    trace = launches(Trace().step(0, 900), 0)
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 104, 600)
    trace.op("aten::copy_", 306, 600)
    trace.launch(310, 590, copy(PAGEABLE_HTOD, 320, 590, size=8 * MB), call="cudaMemcpyAsync")
    assert lost(launches(trace, 620).build()) == [
        (104, 306, Activity.STARVED),
        (306, 600, Activity.COPY),
    ]


def test_managed_memory_that_is_prefetched_holds_the_host() -> None:
    """The call returns when the driver has moved the pages."""
    trace = launches(Trace().step(0, 900), 0).call("cudaMemPrefetchAsync", 110, 310)
    assert lost(launches(trace, 320).build()) == [(110, 310, Activity.COPY)]


def slow_launch(slow_in: set[int]) -> Timeline:
    """Record three steps, of which some have a launch that takes 3 ms instead of 5 us."""
    trace = Trace()
    for number in range(3):
        launches(trace.at(5000 * number).step(0, 5000, number), 0)
        launches(trace, 110, 1, took=3000 if number in slow_in else 5)
        launches(trace, 3300)
    return trace.build()


def test_a_call_that_usually_takes_far_less_is_stretched() -> None:
    """The same call takes 5 us in other steps: 3 ms of it were somebody else's."""
    found = lost(slow_launch({1}))
    assert [stretch for stretch in found if stretch[1] - stretch[0] == 3000] == [
        (5110, 8110, Activity.STRETCHED)
    ]


def test_what_is_long_in_every_step_is_not_stretched() -> None:
    """A launch that takes 3 ms at the same place of each step is long by nature."""
    assert Activity.STRETCHED not in {kind for _, _, kind in lost(slow_launch({0, 1, 2}))}


def test_a_pause_at_no_fixed_place_is_stretched() -> None:
    """A pause that only one of three steps has at its place is no input pipeline's."""
    trace = Trace()
    for number in range(3):
        late = 3000 if number == 1 else 0
        trace.at(5000 * number).step(0, 5000, number)
        launches(launches(trace, 0), 100 + late)
        launches(trace, 4700, 20)
    assert (5095, 8100, Activity.STRETCHED) in lost(trace.build())


def paused(every: int) -> Timeline:
    """Record a step of 60 launches, with a pause of 4 ms after each so many of them."""
    trace = Trace().step(0, 5000 * (60 // every))
    for number in range(60 // every):
        launches(trace, 5000 * number + 4000, every)
    return trace.build()


def test_an_input_pipeline_stalls_at_few_places() -> None:
    """A pause of milliseconds after each twenty launches is starvation."""
    assert {kind for _, _, kind in lost(paused(every=20))} == {Activity.STARVED}


def test_steps_of_few_calls_have_few_places_to_stall_at() -> None:
    """A step of two graph launches with milliseconds of scheduling between them is starved."""
    trace = Trace()
    for number in range(4):
        trace.at(5000 * number).step(0, 5000, number)
        trace.launch(2000, 2010, kernel("a", 2020, 2100), call="cudaGraphLaunch")
        trace.launch(4000, 4010, kernel("b", 4020, 4100), call="cudaGraphLaunch")
    assert {kind for _, _, kind in lost(trace.build())} == {Activity.STARVED}


def test_a_contended_lock_stalls_at_every_place() -> None:
    """A pause of milliseconds after each third launch is another thread with the lock."""
    assert {kind for _, _, kind in lost(paused(every=3))} == {Activity.STRETCHED}


def test_a_program_without_python_has_no_interpreter_to_contend_for() -> None:
    """Where no Python shows, as in a recording of CUDA alone, long work is the program's own."""
    plain = msgspec.structs.replace(paused(every=3), kind="nsys")
    assert {kind for _, _, kind in lost(plain)} == {Activity.STARVED}


def test_a_call_held_by_a_busy_gpu_is_not_stretched() -> None:
    """A launch returns late when the queue is full: the GPU sets the pace."""
    trace = Trace()
    for number in range(3):
        trace.at(5000 * number).step(0, 5000, number)
        launches(trace, 0, 5).launch(100, 3100, kernel("long", 50, 3200))
        launches(trace, 3300)
    assert Activity.STRETCHED not in {kind for _, _, kind in lost(trace.build())}


def test_an_environment_is_starvation_at_each_of_its_steps() -> None:
    """A simulation between every few launches of a policy is long at one place, not at all."""
    trace = Trace().step(0, 5000 * 40)
    for number in range(40):
        trace.at(5000 * number)
        for layer in range(6):
            at = 4000 + 20 * layer + (700 if number % 9 == 0 else 0)
            trace.op(f"aten::op{layer}", at, at + 10)
            trace.launch(at + 2, at + 8, kernel(f"k{layer}", at + 9, at + 12))
    assert {kind for _, _, kind in lost(trace.build())} == {Activity.STARVED}


begins = st.lists(st.integers(0, 3000), min_size=1, max_size=25)


@given(
    begins, st.lists(st.sampled_from(["op", "wait", "launch", "load"]), min_size=25, max_size=25)
)
def test_work_tiles_its_lane(moments: list[int], kinds: list[str]) -> None:
    """Whatever happened, the stretches of a lane follow each other without gap or overlap."""
    trace = Trace().step(0, 4000).launch(0, 5, kernel("k", 6, 9))
    for moment, kind in zip(moments, kinds, strict=False):
        if kind == "op":
            trace.op("aten::x", moment, moment + 300)
        elif kind == "wait":
            trace.call("cudaDeviceSynchronize", moment, moment + 50)
        elif kind == "launch":
            trace.launch(moment, moment + 5, kernel("k", moment + 9, moment + 20))
        else:
            trace.annotation("enumerate(DataLoader)#x", moment, moment + 100)
    timeline = trace.build()
    work, found = work_of(timeline), find_steps(timeline)
    assert (work.start[1:] == work.end[:-1]).all()
    assert int(work.start[0]) <= found.host_start[0]
    assert int(work.end[-1]) >= found.host_end[-1]


def test_a_lane_without_any_length_has_no_work() -> None:
    """Whole microseconds may leave nothing to be tiled."""
    assert len(work_of(steps(2, 10, lambda t: t.launch(5, 5, kernel("k", 6, 8)))).start) == 0
