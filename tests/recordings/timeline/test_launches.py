"""When each piece of GPU work was issued."""

from __future__ import annotations

from tailwave.recordings.timeline.launches import NOT_RECORDED, issued, issued_in_order
from tests.builders import Trace, kernel


def lossy() -> Trace:
    """Record two streams, of which each lost the launch of its first and of a later kernel."""
    trace = Trace().unlaunched(kernel("a", 0, 5), kernel("b", 1, 6, stream=8))
    trace.launch(10, 12, kernel("c", 15, 20)).unlaunched(kernel("d", 21, 25))
    trace.launch(30, 32, kernel("e", 35, 40, stream=8))
    return trace.unlaunched(kernel("f", 41, 45, stream=8), kernel("g", 46, 50))


def test_work_is_issued_when_its_call_begins() -> None:
    """Work without a recorded launch was issued at no known moment."""
    unknown = NOT_RECORDED
    assert issued(lossy().build()).tolist() == [
        *(unknown, unknown),
        *(10_000, unknown),
        *(30_000, unknown, unknown),
    ]


def test_a_lost_launch_is_taken_from_the_row_before() -> None:
    """In its stream, work was issued no earlier than what ran before it."""
    unknown = NOT_RECORDED
    assert issued_in_order(lossy().build()).tolist() == [
        *(unknown, unknown),
        *(10_000, 10_000),
        *(30_000, 30_000, 10_000),
    ]


def test_a_recording_of_the_gpu_alone_issued_nothing() -> None:
    """Without a host table there is no moment to be had."""
    assert issued(Trace().unlaunched(kernel("k", 0, 5)).build()).tolist() == [NOT_RECORDED]
