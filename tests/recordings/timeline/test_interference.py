"""Kernels held up by another stream's: how long they waited, and how much longer they ran."""

from __future__ import annotations

import numpy as np

from tailwave.model import Timeline
from tailwave.recordings.timeline.interference import (
    interference,
    most_delayed_stream,
    streams_are_joined,
)
from tailwave.recordings.timeline.steps import find_steps
from tests.builders import Trace, kernel

LATENCY = 5_000


def waited(timeline: Timeline) -> list[float]:
    """Give how long each GPU row was held up (us)."""
    return [float(ns) / 1e3 for ns in interference(timeline, 0, LATENCY).waited]


def held_up(begin: float = 300) -> Trace:
    """Launch a small kernel 20 us after a tenant's large one, that runs until 300."""
    trace = Trace().launch(0, 4, kernel("large", 5, 300, stream=9))
    return trace.launch(20, 24, kernel("small", begin, begin + 10))


def test_a_ready_kernel_waits_while_another_stream_runs() -> None:
    """Its launch arrived at 25 and its stream was free: until 300 the large kernel held the SMs."""
    assert waited(held_up().build()) == [0, 275]


def test_the_holder_is_named() -> None:
    """Who held the SMs is the stream that ran when the waiting ended."""
    assert interference(held_up().build(), 0, LATENCY).holder.tolist() == [-1, 9]


def test_a_short_wait_is_the_gpus_own() -> None:
    """Two microseconds are what the GPU needs to switch from kernel to kernel."""
    assert waited(held_up(begin=27).build()) == [0, 0]


def test_a_wait_of_which_others_fill_less_than_half_is_not_theirs() -> None:
    """Until 700 the large kernel ran for 275 us: something else held the small one."""
    assert waited(held_up(begin=701).build()) == [0, 0]


def test_a_kernel_waits_for_its_own_stream_first() -> None:
    """While the kernel before it runs in its own stream, nobody else holds it up."""
    trace = Trace().launch(0, 4, kernel("large", 5, 300, stream=9))
    trace.launch(8, 10, kernel("own", 13, 250)).launch(20, 24, kernel("small", 300, 310))
    assert waited(trace.build()) == [0, 0, 50]


def test_one_stream_cannot_interfere() -> None:
    """Without another stream nothing is held up."""
    trace = Trace().launch(0, 4, kernel("large", 5, 300)).launch(20, 24, kernel("small", 300, 310))
    assert waited(trace.build()) == [0, 0]


def test_another_device_cannot_interfere() -> None:
    """A stream of another GPU holds none of this one's SMs."""
    trace = Trace().launch(0, 4, kernel("large", 5, 300, stream=9, device=1))
    assert waited(trace.launch(20, 24, kernel("small", 300, 310)).build()) == [0, 0]


def test_work_of_unknown_origin_never_waits() -> None:
    """Of work whose launch is not recorded nobody knows when it was ready."""
    trace = Trace().launch(0, 4, kernel("large", 5, 300, stream=9))
    assert waited(trace.unlaunched(kernel("small", 300, 310)).build()) == [0, 0]


def test_a_collective_holds_nobody_up() -> None:
    """What waits while a collective runs waits for its result, not for its few SMs."""
    trace = Trace().launch(0, 4, kernel("ncclDevKernel_AllReduce", 5, 300, stream=9))
    assert waited(trace.launch(20, 24, kernel("small", 300, 310)).build()) == [0, 0]


def test_a_kernel_that_shares_the_sms_runs_longer() -> None:
    """Alone the kernel takes 10 us; beside another stream's it took 35: 25 us longer."""
    trace = Trace()
    for number in range(3):
        at = 100 * number
        trace.launch(at, at + 4, kernel("small", at + 5, at + 15, grid=8))
    trace.launch(400, 404, kernel("large", 405, 500, stream=9))
    trace.launch(406, 408, kernel("small", 411, 446, grid=8))
    found = interference(trace.build(), 0, LATENCY)
    assert found.stretched.tolist() == [0, 0, 0, 0, 25_000]


def test_a_kernel_never_seen_alone_has_no_usual_time() -> None:
    """Without a run of its own there is nothing to compare with; another grid is another kernel."""
    trace = Trace().launch(0, 4, kernel("small", 5, 15, grid=4))
    trace.launch(400, 404, kernel("large", 405, 500, stream=9))
    trace.launch(406, 408, kernel("small", 411, 446, grid=8))
    assert interference(trace.build(), 0, LATENCY).stretched.tolist() == [0, 0, 0]


def test_streams_that_wait_for_each_other_are_joined() -> None:
    """A stream that waits for an event of another needs its work: the two belong together."""
    free, joined = held_up(), held_up().call("cudaStreamWaitEvent", 10, 12)
    assert not streams_are_joined(free.build(), find_steps(free.build()))
    assert streams_are_joined(joined.build(), find_steps(joined.build()))


def test_streams_joined_outside_the_steps_are_free_within() -> None:
    """What was joined before the steps began says nothing about them."""
    trace = Trace().call("cudaStreamWaitEvent", 0, 2).step(100, 200)
    trace.launch(110, 114, kernel("k", 115, 150))
    assert not streams_are_joined(trace.build(), find_steps(trace.build()))


def test_the_most_delayed_stream_lost_most() -> None:
    """Of the streams held up, the one that lost most is the victim; without any there is none."""
    timeline = held_up().build()
    seen = interference(timeline, 0, LATENCY)
    assert most_delayed_stream(timeline, seen, np.array([0, 1])) == 7
    assert most_delayed_stream(timeline, seen, np.array([0])) == -1
