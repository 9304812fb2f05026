"""What stretches of host work are called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.recordings.timeline.hostwork import Activity, host_work
from tailwave.recordings.timeline.lanes import build_lanes
from tailwave.recordings.timeline.steps import find_steps
from tailwave.recordings.timeline.work_names import WorkNames
from tests.builders import Trace, kernel


def named(trace: Trace, kind: Activity = Activity.STARVED) -> set[str]:
    """Name the stretches of one kind in the only lane."""
    timeline = trace.build()
    [lane] = build_lanes(timeline)
    [work] = host_work(timeline, [lane], find_steps(timeline))
    return set(WorkNames(timeline).of(lane, work, np.flatnonzero(work.activity == kind)))


def starved() -> Trace:
    """Record a step in which the host pauses from 100 to 1,100 us."""
    trace = Trace().step(0, 1200).op("aten::a", 0, 100).launch(90, 95, kernel("a", 99, 102))
    return trace.op("aten::b", 1100, 1120).launch(1105, 1110, kernel("b", 1112, 1115))


def test_a_pause_is_named_after_the_call_before_it_where_nothing_better_is_known() -> None:
    """The outermost operator, that is."""
    assert named(starved()) == {"a pause after aten::a"}


def test_a_pause_before_the_first_call_is_named_so() -> None:
    """There is none that it could follow."""
    trace = Trace().step(0, 2400).op("aten::b", 1100, 2390)
    assert named(trace.launch(1105, 1110, kernel("b", 1112, 1115))) == {"a pause before aten::b"}


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        (lambda trace: trace.annotation("IO 17", 102, 1090), "IO #"),
        (lambda trace: trace.frame("train.py(7): read", 102, 1090), "train.py(7): read"),
        (lambda trace: trace.frame("nn.Module: Resize_0", 102, 1090), "nn.Module: Resize_0"),
        (lambda trace: trace.op("aten::stft", 102, 1090), "aten::stft"),
        (
            lambda trace: trace.frame("<built-in function sleep>", 102, 1090),
            "<built-in function sleep>",
        ),
        (
            lambda trace: trace.annotation("enumerate(DataLoader)#_It.__next__", 102, 1090),
            "DataLoader.__next__",
        ),
        # Not over most of it.
        (lambda trace: trace.annotation("IO 17", 102, 500), "a pause after aten::a"),
        # Launches kernels, so it is more than the pause.
        (lambda trace: trace.annotation("forward", 80, 1110), "a pause after aten::a"),
        (lambda trace: trace.frame("train.py(1): main", 0, 1200), "a pause after aten::a"),
        # The framework's own.
        (lambda trace: trace.frame("torch/nn/a.py(7): f", 102, 1090), "a pause after aten::a"),
        (lambda trace: trace.annotation("ProfilerStep#7", 102, 1090), "a pause after aten::a"),
    ],
)
def test_a_scope_that_launches_nothing_lends_its_name(
    scope: Callable[[Trace], Trace], name: str
) -> None:
    """An annotation, a frame outside the framework, an operator, a built-in function."""
    assert name in named(scope(starved()))


def test_the_outermost_name_is_taken_and_the_programs_own_first() -> None:
    """Annotation, frame, operator; the loader's mark before all."""
    trace = starved().frame("a.py(1): outer", 101, 1095).frame("b.py(2): inner", 102, 1094)
    trace.op("aten::stack", 103, 1093)
    assert "a.py(1): outer" in named(trace)
    assert named(trace.annotation("prepare", 104, 1092)) >= {"prepare"}
    trace.annotation("enumerate(DataLoader)#_It.__next__", 100, 1096)
    assert "DataLoader.__next__" in named(trace)


def test_a_wait_is_named_by_the_operator_for_whose_sake_it_is() -> None:
    """The call that waits is an inner part of it."""
    trace = starved().op("aten::item", 1130, 1160).call("cudaStreamSynchronize", 1140, 1150)
    assert named(trace, Activity.SYNC) == {"aten::item"}


def test_a_wait_in_an_operator_that_computes_is_named_by_that() -> None:
    """What the user's code called is the outermost one."""
    trace = starved().op("aten::nonzero", 1130, 1190).launch(1131, 1135, kernel("c", 1136, 1138))
    trace.call("cudaStreamSynchronize", 1140, 1150)
    assert named(trace, Activity.SYNC) == {"aten::nonzero"}


def test_start_up_is_named_by_its_call() -> None:
    """Around it lies whatever came first."""
    trace = Trace().op("aten::to", 0, 300_100).call("cudaMalloc", 50, 300_000)
    trace.launch(300_050, 300_060, kernel("k", 300_070, 300_080))
    assert "cudaMalloc" in named(trace, Activity.STARTUP)


def test_compilation_is_named_by_its_phase() -> None:
    """The outermost one."""
    trace = starved().annotation("entire_frame_compile", 100, 1100)
    trace.annotation("GraphLowering.run (dynamo_timed)", 110, 1090)
    assert named(trace, Activity.STARTUP) == {"entire_frame_compile"}


def test_a_backward_operator_is_named_without_its_engine() -> None:
    """The engine's prefix is the same for all."""
    trace = starved().op("autograd::engine::evaluate_function: MulBackward0", 105, 1095)
    assert named(trace) >= {"MulBackward0"}


kinds = st.sampled_from(["op", "wait", "launch", "note", "frame", "load"])


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 900), kinds), max_size=20))
def test_every_stretch_has_a_name(events: list[tuple[int, int, str]]) -> None:
    """Whatever happened."""
    trace = Trace().step(0, 4000).launch(0, 5, kernel("k", 6, 9))
    for begin, took, kind in events:
        if kind == "launch":
            trace.thread("other").launch(begin, begin + took, kernel("k", begin, begin + took + 5))
        elif kind == "wait":
            trace.thread("main").call("cudaDeviceSynchronize", begin, begin + took)
        elif kind == "op":
            trace.op("aten::x", begin, begin + took)
        elif kind == "note":
            trace.annotation("x (dynamo_timed)", begin, begin + took)
        elif kind == "frame":
            trace.frame("a.py(1): f", begin, begin + took)
        else:
            trace.annotation("enumerate(DataLoader)#x", begin, begin + took)
    timeline = trace.build()
    lanes, names = build_lanes(timeline), WorkNames(timeline)
    for lane, work in zip(lanes, host_work(timeline, lanes, find_steps(timeline)), strict=True):
        assert all(names.of(lane, work, np.arange(len(work.start))))
