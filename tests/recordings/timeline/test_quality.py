"""Doubts about a recording: what is noted, and what withholds a verdict."""

from __future__ import annotations

import numpy as np

from tailwave.recordings.timeline.quality import Quality, assess, whole_steps
from tailwave.recordings.timeline.steps import AFTER, BEFORE, Steps, find_steps
from tests.builders import Trace, kernel


def sound(trace: Trace, count: int = 200, begin: float = 0) -> Trace:
    """Launch kernels of 5 us every 10 us, all recorded as they should be."""
    for number in range(count):
        at = begin + 10 * number
        trace.launch(at, at + 3, kernel("k", at + 4, at + 9))
    return trace


def doubts(trace: Trace) -> tuple[tuple[str, ...], bool, bool]:
    """Give the notes, and whether host and GPU are sound."""
    timeline = trace.build()
    found: Quality = assess(timeline, find_steps(timeline))
    return found.notes, found.host_is_sound, found.gpu_is_sound


def test_a_sound_recording_has_no_doubts() -> None:
    """Nothing missing, nothing out of order: nothing to say."""
    assert doubts(sound(Trace())) == ((), True, True)


def dropped(count: int) -> Trace:
    """Launch 200 kernels, between whose halves so many launches are without their work."""
    trace = sound(sound(Trace(), 100), 100, 2000)
    for number in range(count):
        trace.launch(1100 + 5 * number, 1103 + 5 * number)
    return trace


def test_a_launch_or_two_may_lack_their_work() -> None:
    """A recorder that drops a hundredth says enough."""
    assert doubts(dropped(2)) == ((), True, True)


def test_what_had_not_run_when_the_recorder_stopped_is_no_doubt() -> None:
    """The last launches lack their work, unless the host waited for them."""
    trace = sound(Trace())
    for number in range(100):
        trace.launch(2100 + 5 * number, 2103 + 5 * number)
    assert doubts(trace) == ((), True, True)
    waited = trace.launch(2700, 2701, call="cudaDeviceSynchronize")
    assert "100 launches of 300 have no GPU event" in doubts(waited)[0][0]


def test_dropped_gpu_events_are_noted() -> None:
    """Of 220 launches 20 have no GPU event: worth a note, but the verdict stands."""
    notes, host_is_sound, gpu_is_sound = doubts(dropped(20))
    assert "".join(notes) == (
        "20 launches of 220 have no GPU event: the recorder dropped events. Idle time near them "
        "is doubtful."
    )
    assert (host_is_sound, gpu_is_sound) == (True, True)


def test_many_dropped_gpu_events_withhold_everything() -> None:
    """With a third of the GPU's work missing, neither idle nor busy time means anything."""
    assert doubts(dropped(100))[1:] == (False, False)


def _capturing(thread: str) -> Trace:
    """Capture 300 launches into a graph, all made on a thread, before 200 sound ones."""
    trace = sound(Trace()).thread("2").call("cudaStreamBeginCapture", 2100, 2101).thread(thread)
    for number in range(300):
        trace.launch(2102 + number, 2102.5 + number)
    return trace.thread("2").call("cudaStreamEndCapture", 2403, 2404)


def test_what_a_graph_captured_needs_no_gpu_event() -> None:
    """A launch while its thread captures goes into the graph, and nowhere else."""
    assert doubts(_capturing("2")) == ((), True, True)


def test_after_a_capture_launches_need_their_work_again() -> None:
    """The capture ends; and what other threads launch meanwhile is not in it."""
    later = _capturing("2")
    for number in range(20):
        later.launch(2500 + 5 * number, 2503 + 5 * number)
    later.launch(2700, 2701, call="cudaDeviceSynchronize")
    assert "20 launches of 220 have no GPU event" in doubts(later)[0][0]
    other = sound(_capturing("3"), 1, 2600)
    assert "300 launches of 501 have no GPU event" in doubts(other)[0][0]


def test_a_host_callback_needs_no_gpu_event() -> None:
    """A host function in a stream is launched, and runs on the host."""
    trace = sound(Trace())
    for number in range(100):
        trace.launch(2100 + number, 2100.5 + number, call="cudaLaunchHostFunc")
    assert doubts(trace) == ((), True, True)


def test_a_backlog_is_no_doubt() -> None:
    """Work queued before the recording began has no recorded launch, and need not."""
    trace = Trace()
    for number in range(50):
        trace.unlaunched(kernel("old", -500 + 10 * number, -491 + 10 * number))
    assert doubts(sound(trace)) == ((), True, True)


def test_missing_launches_are_noted() -> None:
    """GPU work in mid-recording without a launch leaves idle time unexplained."""
    trace = sound(Trace())
    for number in range(20):
        trace.unlaunched(kernel("k", 2100 + 10 * number, 2105 + 10 * number))
    notes, host_is_sound, gpu_is_sound = doubts(trace)
    assert "".join(notes) == (
        "20 GPU events have no recorded launch, 9.1% of the GPU's time; idle time before them is "
        "called unknown."
    )
    assert (host_is_sound, gpu_is_sound) == (True, True)


def test_many_missing_launches_withhold_the_hosts_causes() -> None:
    """The GPU's own time can be trusted; who left it idle cannot be said."""
    trace = sound(Trace(), 10)
    for number in range(20):
        trace.unlaunched(kernel("k", 2100 + 10 * number, 2105 + 10 * number))
    assert doubts(trace)[1:] == (False, True)


def test_a_recording_of_the_gpu_alone_says_so() -> None:
    """Without any launch there is no host to be blamed."""
    notes, host_is_sound, gpu_is_sound = doubts(Trace().unlaunched(kernel("k", 0, 5)))
    assert "".join(notes) == (
        "No GPU event has a recorded launch (recorded without CPU activity?): who caused the "
        "idle time cannot be said."
    )
    assert (host_is_sound, gpu_is_sound) == (False, True)


def test_events_of_no_length_are_noted() -> None:
    """A recorder in whole microseconds rounds short kernels down to nothing."""
    trace = sound(Trace(), 97)
    for number in range(3):
        trace.launch(
            2000 + 10 * number,
            2003 + 10 * number,
            kernel("k", 2005 + 10 * number, 2005 + 10 * number),
        )
    assert doubts(trace)[0] == ("3 GPU events of 100 last 0 ns (rounded down).",)


def test_overlap_within_a_stream_is_doubtful() -> None:
    """A stream runs one kernel after the other: two at once were timed wrongly."""
    trace = Trace()
    for number in range(10):
        at = 10 * number
        trace.launch(at, at + 3, kernel("a", at + 4, at + 12))
        trace.launch(at + 4, at + 5, kernel("b", at + 6, at + 13))
    notes, host_is_sound, gpu_is_sound = doubts(trace)
    assert notes[0].startswith("10 GPU events overlap the one before them in their stream")
    assert (host_is_sound, gpu_is_sound) == (True, False)


def test_a_kernel_may_begin_as_the_one_before_drains() -> None:
    """Programmatic dependent launch lets a kernel begin before the one before it has ended."""
    trace = Trace()
    for number in range(20):
        at = 10 * number
        trace.launch(at, at + 3, kernel("k", at + 4, at + 16))
    assert doubts(trace) == ((), True, True)


def test_work_before_its_launch_is_doubtful() -> None:
    """Where kernels begin before the calls that launch them, the two clocks disagree."""
    trace = Trace()
    for number in range(20):
        at = 100 * number
        trace.launch(at, at + 3, kernel("k", at - 50, at - 40))
    notes, host_is_sound, gpu_is_sound = doubts(trace)
    assert "".join(notes) == (
        "20 GPU events of 20 start before the call that launched them, by times that differ: the "
        "clocks of host and GPU disagree."
    )
    assert (host_is_sound, gpu_is_sound) == (False, True)


def cut(*kernels: int) -> Trace:
    """Record steps of 1000 us with these numbers of kernels."""
    trace = Trace()
    for number, count in enumerate(kernels):
        sound(trace.at(1000 * number).step(0, 1000, number), count)
    return trace


def whole(trace: Trace) -> tuple[Steps, tuple[str, ...]]:
    """Leave out the steps that are not whole, where all GPU work counts."""
    steps = find_steps(trace.build())
    return whole_steps(steps, np.ones(len(steps.gpu_step), dtype=bool))


def test_a_step_that_the_recorder_cut_is_left_out() -> None:
    """A first or last step with far less work than the others was not recorded in full."""
    found, notes = whole(cut(3, 10, 10, 10, 2))
    assert found.names == ("ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3")
    assert "".join(notes) == (
        "2 of 5 steps left out: the recording begins or ends within them, or they hold no GPU work."
    )


def test_work_of_steps_left_out_is_no_steps() -> None:
    """Steps are numbered anew; what was launched in the ones left out is before or after."""
    found, _ = whole(cut(1, 4, 4, 4, 1))
    assert found.gpu_step.tolist() == [BEFORE] + 4 * [0] + 4 * [1] + 4 * [2] + [AFTER]


def test_two_steps_are_kept() -> None:
    """Of two steps nobody can tell which one is whole."""
    found, notes = whole(cut(1, 10))
    assert (len(found), notes) == (2, ())


def test_empty_steps_at_either_end_are_left_out() -> None:
    """A step without work at the end is none; one between others is the program's."""
    found, notes = whole(cut(0, 4, 0, 4, 0, 0))
    assert found.names == ("ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3")
    assert "3 of 6 steps left out" in "".join(notes)


def test_steps_alike_are_kept() -> None:
    """Steps alike need no note."""
    assert whole(cut(4, 4, 4))[1] == ()


def test_work_that_does_not_count_fills_no_step() -> None:
    """What counts is told by the caller, such as the work of one device."""
    timeline = cut(4, 4, 4).build()
    steps = find_steps(timeline)
    is_work = steps.gpu_step != 0
    assert len(whole_steps(steps, is_work)[0]) == 2
