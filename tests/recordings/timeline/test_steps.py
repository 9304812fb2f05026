"""How a recording divides into steps, and which step each piece of GPU work belongs to."""

from __future__ import annotations

import numpy as np

from tailwave.model import Timeline
from tailwave.recordings.timeline.steps import (
    AFTER,
    BEFORE,
    find_steps,
    gpu_busy,
    kernel_periods,
    summarise,
)
from tests.builders import H200, Trace, kernel, steps


def issue_one(trace: Trace) -> Trace:
    """Issue one kernel of 20 us, 10 us into the step."""
    return trace.launch(10, 15, kernel("gemm", 20, 40))


def test_profiler_steps_are_the_steps() -> None:
    """Each ProfilerStep#n is a step, from one completion to the next.

    The last one ends with the last that was recorded in it, its mark aside.
    """
    found = find_steps(steps(3, 100, issue_one))
    assert found.by == "ProfilerStep"
    assert found.names == ("ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2")
    assert found.duration.tolist() == [100_000, 100_000, 40_000]
    assert found.gpu_step.tolist() == [0, 1, 2]


def test_profiler_steps_may_overlap_by_rounding() -> None:
    """Recorders round: a step that ends 1 us after the next begins is still a step."""
    trace = Trace().step(0, 101, 0).step(100, 200, 1).launch(10, 15, kernel("gemm", 20, 40))
    assert find_steps(trace.build()).by == "ProfilerStep"


def test_work_belongs_to_the_step_that_launched_it() -> None:
    """A kernel launched in one step that runs in the time of the next belongs to the first."""
    trace = Trace().step(0, 100, 0).launch(10, 15, kernel("late", 120, 180))
    trace.step(100, 200, 1).launch(110, 115, kernel("own", 180, 250))
    found = find_steps(trace.build())
    assert found.gpu_step.tolist() == [0, 1]
    assert found.complete_to.tolist() == [180_000, 250_000]


def test_steps_tile_the_recording() -> None:
    """A step begins where the one before it was complete, however far the host runs ahead."""
    trace = Trace()
    for number in range(4):
        begin = 10 * number
        trace.step(begin, begin + 10, number)
        trace.launch(begin + 1, begin + 2, kernel("gemm", 5 + 100 * number, 105 + 100 * number))
    found = find_steps(trace.build())
    assert found.complete_from.tolist() == [0, 105_000, 205_000, 305_000]
    assert found.complete_to.tolist() == [105_000, 205_000, 305_000, 405_000]


def test_a_backlog_delays_the_first_step() -> None:
    """Work launched before the recording is no step's; the first step begins after it."""
    trace = Trace().unlaunched(kernel("old", 0, 30))
    found = find_steps(steps(2, 100, issue_one, trace))
    assert found.gpu_step.tolist() == [BEFORE, 0, 1]
    assert found.complete_from.tolist() == [30_000, 100_000]


def test_a_lost_launch_is_placed_by_its_stream() -> None:
    """A stream runs in order, so work whose launch is lost belongs to the step before it."""
    trace = Trace()
    trace.step(0, 100, 0).launch(10, 15, kernel("gemm", 20, 40))
    trace.unlaunched(kernel("lost", 45, 60))
    trace.step(100, 200, 1).launch(110, 115, kernel("gemm", 120, 140))
    found = find_steps(trace.build())
    assert found.gpu_step.tolist() == [0, 0, 1]
    assert found.duration.tolist() == [100_000, 40_000]


def test_work_after_the_last_step_is_no_steps() -> None:
    """What the host launches after the last step is left out."""
    trace = Trace().launch(250, 255, kernel("after", 260, 300))
    found = find_steps(steps(2, 100, issue_one, trace))
    assert found.gpu_step.tolist() == [0, 1, AFTER]
    assert found.complete_to.tolist() == [100_000, 200_000]


def test_a_step_without_gpu_work_ends_with_its_host_code() -> None:
    """An empty step takes as long as its host code."""
    trace = Trace().step(0, 100, 0).launch(10, 15, kernel("gemm", 20, 40)).step(100, 130, 1)
    trace.op("aten::zeros", 110, 130)
    assert find_steps(trace.build()).duration.tolist() == [100_000, 30_000]


def test_steps_may_begin_before_zero() -> None:
    """The trace's own clock may count from anywhere."""
    found = find_steps(steps(2, 100, issue_one))
    shifted = Trace()
    for number in range(2):
        shifted.at(-500 + 100 * number).step(0, 100, number)
        issue_one(shifted)
    early = find_steps(shifted.build())
    assert early.duration.tolist() == found.duration.tolist()
    assert early.complete_from.tolist() == [-500_000, -400_000]


def test_steps_are_complete_by_one_devices_work() -> None:
    """Asked for one GPU, another GPU's work does not hold a step open."""
    trace = Trace().step(0, 100).launch(10, 15, kernel("a", 20, 40), kernel("b", 20, 300, device=1))
    assert find_steps(trace.build(), device=0).complete_to.tolist() == [100_000]
    assert find_steps(trace.build(), device=1).complete_to.tolist() == [300_000]
    assert find_steps(trace.build()).complete_to.tolist() == [300_000]


def test_a_repeating_annotation_marks_the_steps() -> None:
    """Without ProfilerStep, the annotation that repeats and holds the launches marks steps."""
    trace = Trace()
    for number in range(3):
        trace.at(100 * number).annotation(f"iter {number}", 0, 90)
        issue_one(trace)
    found = find_steps(trace.build())
    assert found.by == "annotation iter #"
    assert found.host_start.tolist() == [0, 100_000, 200_000]


def test_the_outermost_repeating_annotation_wins() -> None:
    """Of two annotations that hold all launches, the one that repeats less often is the step."""
    trace = Trace()
    for number in range(3):
        trace.at(100 * number).annotation("train", 0, 90)
        for layer in range(4):
            trace.annotation("layer", 20 * layer, 20 * layer + 18)
            trace.launch(20 * layer, 20 * layer + 5, kernel("gemm", 20 * layer + 6, 20 * layer + 9))
    assert find_steps(trace.build()).by == "annotation train"


def test_an_annotation_that_holds_little_work_is_no_step() -> None:
    """An annotation outside of which most launches lie does not mark steps."""
    trace = Trace().annotation("warm", 0, 10).annotation("warm", 10, 20)
    for number in range(5):
        trace.at(100 + 100 * number)
        issue_one(trace)
    assert find_steps(trace.build()).by == "whole trace"


def test_a_nested_annotation_is_no_step() -> None:
    """An annotation within another of its own name cannot tile a recording."""
    trace = Trace().annotation("module", 0, 100).annotation("module", 10, 50)
    trace.launch(20, 25, kernel("gemm", 30, 40))
    assert find_steps(trace.build()).by == "whole trace"


def test_a_sequence_of_kernels_that_repeats_marks_the_steps() -> None:
    """Without annotations, the period of the kernel sequence divides the recording."""
    trace = Trace()
    for number in range(4):
        trace.at(100 * number)
        for index, name in enumerate(("embed", "gemm", "gemm", "loss")):
            trace.launch(10 * index, 10 * index + 5, kernel(name, 10 * index + 6, 10 * index + 9))
    found = find_steps(trace.build())
    assert found.by == "kernel period"
    assert found.host_start.tolist() == [0, 100_000, 200_000, 300_000]
    assert found.host_end.tolist() == [100_000, 200_000, 300_000, 335_000]


def test_a_kernel_period_begins_where_the_host_pauses() -> None:
    """A prologue does not shift the steps: they begin after the host's longest pause."""
    trace = Trace().launch(0, 5, kernel("fill", 6, 9)).launch(10, 15, kernel("loss", 16, 19))
    for number in range(8):
        trace.at(100 + 100 * number)
        for index, name in enumerate(("embed", "gemm", "gemm", "loss")):
            trace.launch(10 * index, 10 * index + 5, kernel(name, 10 * index + 6, 10 * index + 9))
    found = find_steps(trace.build())
    assert found.by == "kernel period"
    assert found.host_start.tolist() == [100_000 * (1 + number) for number in range(8)]


def test_requests_of_any_length_have_no_period() -> None:
    """Kernels that alternate within requests, with pauses between these, repeat without steps."""
    trace = Trace()
    for number, count in enumerate((5, 9, 3, 11, 7, 6)):
        for index in range(2 * count):
            at = 2000 * number + 8 * index
            trace.launch(at, at + 4, kernel("ab"[index % 2], at + 5, at + 8))
    assert find_steps(trace.build()).by == "whole trace"


def test_a_slow_first_period_is_a_period() -> None:
    """A first step that loads its kernels takes long, and the others are steps all the same."""
    trace = Trace()
    for number in range(5):
        trace.at(1000 + 100 * number if number else 0)
        for index, name in enumerate(("a", "b", "c")):
            trace.launch(10 * index, 10 * index + 5, kernel(name, 10 * index + 6, 10 * index + 9))
    assert find_steps(trace.build()).by == "kernel period"


def test_layers_that_repeat_within_an_uneven_step_are_no_steps() -> None:
    """Where layers repeat but something long comes between, the longer period is the step."""
    trace = Trace()
    for number in range(8):
        trace.at(2000 * number)
        for index in range(80):
            trace.launch(
                5 * index, 5 * index + 4, kernel("ab"[index % 2], 5 * index + 5, 5 * index + 9)
            )
        trace.launch(1000, 1004, kernel("head", 1005, 1500))
        trace.launch(1500, 1504, kernel("loss", 1505, 1700))
    assert len(find_steps(trace.build())) in (7, 8)


def test_a_kernel_period_is_that_of_one_device() -> None:
    """Two GPUs served by turns do not hide the period of either."""
    trace = Trace()
    for number in range(6):
        trace.at(100 * number)
        for index, name in enumerate(("a", "b", "c")):
            trace.launch(10 * index, 10 * index + 5, kernel(name, 10 * index + 6, 10 * index + 9))
        for extra in range(number):
            odd = kernel(f"other {number} {extra}", 50, 55, device=1)
            trace.launch(40 + extra, 41 + extra, odd)
    assert find_steps(trace.build(), device=0).by == "kernel period"
    assert len(find_steps(trace.build(), device=0)) == 6


def test_a_period_survives_some_noise() -> None:
    """One kernel in fifty that differs (a logging step, say) does not break the period."""
    codes = np.tile(np.arange(10), 10)
    codes[57] = 99
    assert next(kernel_periods(codes)) == 10


def test_a_sequence_without_order_has_no_period() -> None:
    """Names that never repeat in order give no period, nor does one name alone."""
    assert list(kernel_periods(np.arange(50))) == []
    assert list(kernel_periods(np.zeros(50, dtype=np.int64))) == []
    assert list(kernel_periods(np.random.default_rng(1).integers(0, 10, 200))) == []
    assert list(kernel_periods(np.zeros(0, dtype=np.int64))) == []


def test_a_recording_without_repetition_is_one_step() -> None:
    """Where nothing repeats, the step is all from the first launch to the last GPU work."""
    trace = Trace().op("aten::mm", 0, 50).launch(10, 15, kernel("gemm", 20, 90))
    found = find_steps(trace.build())
    assert found.by == "whole trace"
    assert found.duration.tolist() == [80_000]


def test_gpu_work_alone_is_one_step() -> None:
    """A recording of the GPU alone, without any launch, is one step of its own length."""
    found = find_steps(
        Trace().unlaunched(kernel("a", 10, 20)).unlaunched(kernel("b", 30, 40)).build()
    )
    assert found.duration.tolist() == [30_000]
    assert found.gpu_step.tolist() == [0, 0]


def test_an_empty_recording_is_one_empty_step() -> None:
    """Nothing recorded is one step of no length."""
    assert find_steps(Trace().build()).duration.tolist() == [0]


def test_busy_time_counts_overlap_once() -> None:
    """Two streams at work at once keep the GPU busy once; another GPU does not count."""
    trace = Trace(devices=(H200,)).step(0, 100)
    trace.launch(10, 15, kernel("a", 20, 50), kernel("b", 40, 60, stream=8))
    trace.launch(20, 25, kernel("c", 70, 80), kernel("other", 0, 99, device=1))
    timeline = trace.build()
    found = find_steps(timeline, device=0)
    assert gpu_busy(timeline, found, device=0).tolist() == [50_000]


def test_a_summary_gives_means_and_medians() -> None:
    """The summary counts steps and gives their mean and median time, and mean busy time."""
    timeline = steps(3, 100, issue_one)
    summary = summarise(timeline, find_steps(timeline))
    assert (summary.count, summary.by) == (3, "ProfilerStep")
    assert (summary.mean_us, summary.median_us, summary.gpu_busy_us) == (80.0, 100.0, 20.0)


def _replays(kernels: int) -> Timeline:
    """Five launches of one graph, of so many kernels of one name, with a wait after each."""
    trace = Trace()
    for number in range(5):
        at = 100 * number
        rows = [kernel("CUDA graph 3", at + 20 + 10 * i, at + 28 + 10 * i) for i in range(kernels)]
        trace.launch(at, at + 10, *rows, call="cudaGraphLaunch")
        trace.call("cudaStreamSynchronize", at + 11, at + 90)
    return trace.build()


def test_each_launch_of_a_whole_graph_is_a_step() -> None:
    """A recorder of graphs as a whole has one row a launch, all of one name."""
    found = find_steps(_replays(1))
    assert (found.by, len(found)) == ("kernel period", 5)
    assert found.host_start.tolist() == [0, 100_000, 200_000, 300_000, 400_000]


def test_the_nodes_of_a_graph_are_no_steps() -> None:
    """Kernels of one name within a launch begin with it: the launches are the steps."""
    found = find_steps(_replays(4))
    assert (found.by, len(found)) == ("kernel period", 5)


def test_launches_of_one_kernel_are_no_steps() -> None:
    """The same kernel over and over says nothing of where a step ends."""
    trace = Trace()
    for number in range(9):
        trace.launch(10 * number, 10 * number + 4, kernel("gemm", 10 * number + 5, 10 * number + 9))
    assert find_steps(trace.build()).by == "whole trace"
