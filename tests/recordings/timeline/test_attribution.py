"""Where each microsecond of a step went: every cause alone, and how lost time is carried on."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from tailwave.model import Timeline
from tailwave.recordings.timeline.attribution import Attribution, Cause, attribute
from tailwave.recordings.timeline.steps import find_steps
from tests.builders import DTOD, PAGEABLE_HTOD, PINNED_HTOD, Trace, copy, kernel, memset, steps
from tests.recordings.timeline.recordings import recordings

MB = 1 << 20


def attribution_of(timeline: Timeline, device: int = 0) -> Attribution:
    """Divide the steps of a timeline."""
    return attribute(timeline, find_steps(timeline, device), device)


def division(timeline: Timeline, step: int = 0) -> dict[Cause, float]:
    """Give what a step was spent on (us), causes that took nothing left out."""
    spent = attribution_of(timeline).ns[step] / 1e3
    return {cause: float(spent[cause]) for cause in Cause if spent[cause]}


def test_a_busy_gpu_is_all_kernels() -> None:
    """Kernels back to back leave nothing to be divided but the first launch's way to the GPU."""
    trace = Trace().step(0, 50)
    for number in range(10):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 20 * number, 25 + 20 * number))
    assert division(trace.build()) == {Cause.KERNEL: 200, Cause.LAUNCH: 5}


def test_late_launches_are_charged_to_launching() -> None:
    """Kernels of 10 us, launched every 50 us: 40 us idle between two, and 5 before the first."""
    trace = Trace().step(0, 215)
    for number in range(5):
        at = 50 * number
        trace.launch(at, at + 4, kernel("k", at + 5, at + 15))
    assert division(trace.build()) == {Cause.KERNEL: 50, Cause.LAUNCH: 5 + 4 * 40}


def test_a_gap_that_the_gpu_took_is_latency() -> None:
    """Work that had been issued long before it began waited for the GPU, not for the host."""
    trace = Trace().step(0, 50)
    for number in range(3):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 23 * number, 25 + 23 * number))
    assert division(trace.build()) == {Cause.KERNEL: 60, Cause.LATENCY: 6, Cause.LAUNCH: 5}


def test_a_launch_on_its_way_as_the_gpu_runs_dry_is_part_late() -> None:
    """Launched 3 us before the GPU ran dry, and 5 us on its way: 2 us late, the rest the GPU's."""
    trace = Trace().step(0, 60).launch(0, 4, kernel("a", 5, 25)).launch(22, 24, kernel("b", 35, 55))
    assert division(trace.build()) == {
        Cause.KERNEL: 40,
        Cause.LAUNCH: 5 + 2 + 5,  # before a; on its way; and the host code after b
        Cause.LATENCY: 8,
    }


def test_a_launch_after_the_gpu_ran_dry_is_charged_with_all_of_the_gap() -> None:
    """Called 1 us after the GPU ran dry, and 24 us on its way: the host was late for all of it."""
    trace = Trace().step(0, 90).launch(0, 4, kernel("a", 5, 25)).launch(26, 28, kernel("b", 50, 90))
    trace.launch(29, 31, kernel("c", 90, 120)).launch(32, 34, kernel("d", 120, 150))
    assert division(trace.build()) == {Cause.KERNEL: 120, Cause.LAUNCH: 5 + 25}


def test_idle_time_after_a_wait_is_charged_to_the_wait() -> None:
    """The host waited until the GPU was dry: what passes until the next kernel is the wait's."""
    trace = Trace().step(0, 250).launch(0, 4, kernel("a", 5, 200))
    trace.call("cudaDeviceSynchronize", 10, 205).launch(215, 219, kernel("b", 220, 250))
    assert division(trace.build()) == {Cause.KERNEL: 225, Cause.LAUNCH: 5, Cause.SYNC: 20}


def test_a_wait_that_costs_nothing_is_not_charged() -> None:
    """While the GPU has work queued, the host may wait for an event for free."""
    trace = Trace().step(0, 60)
    for number in range(4):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 50 * number, 55 + 50 * number))
    trace.call("cudaEventSynchronize", 20, 57).launch(58, 60, kernel("k", 205, 255))
    assert division(trace.build()) == {Cause.KERNEL: 250, Cause.LAUNCH: 5}


def test_idle_time_after_a_copy_is_charged_to_the_copy() -> None:
    """A pageable copy held the host for 300 us, of which 280 ran; kernels came 25 us after it."""
    trace = Trace().step(0, 430)
    trace.launch(0, 300, copy(PAGEABLE_HTOD, 5, 285, size=8 * MB), call="cudaMemcpyAsync")
    trace.launch(305, 309, kernel("k", 310, 410)).launch(312, 316, kernel("k", 410, 430))
    assert division(trace.build()) == {
        Cause.KERNEL: 120,
        Cause.COPY: 280,
        Cause.BLOCKED_COPY: 25,
        Cause.LAUNCH: 5,
    }


def test_idle_time_after_a_pause_is_starvation() -> None:
    """Nothing was issued for 1000 us after the first kernel was issued."""
    trace = Trace().step(0, 1100)
    for number in range(5):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 10 * number, 15 + 10 * number))
    trace.launch(1024, 1028, kernel("k", 1029, 1100))
    assert division(trace.build()) == {Cause.KERNEL: 121, Cause.STARVED: 974, Cause.LAUNCH: 5}


def issue_by_fives(trace: Trace, number: int, held: float) -> None:
    """Issue two groups of kernels, the launch between them held for some time."""
    trace.at(5000 * number).step(0, 5000, number)
    for index in range(5):
        trace.launch(5 * index, 5 * index + 4, kernel("k", 5 + 5 * index, 10 + 5 * index))
    trace.launch(30, 34 + held, kernel("k", 35, 40))
    for index in range(5):
        at = 35 + held + 5 * index
        trace.launch(at, at + 4, kernel("k", at + 5, at + 10))
    trace.launch(4500, 4504, kernel("long", 4505, 5000))


def test_idle_time_after_stretched_work_is_contention() -> None:
    """A launch of 3004 us, which takes 4 us in the other steps, is charged to later gaps whole."""
    trace = Trace()
    for number in range(3):
        issue_by_fives(trace, number, held=3000 if number == 1 else 0)
    spent = division(trace.build(), step=1)
    assert spent[Cause.CONTENTION] == 3004
    assert Cause.CONTENTION not in division(trace.build(), step=0)


def test_idle_time_before_work_of_unknown_origin_is_unknown() -> None:
    """Whose launch is not recorded cannot be blamed on anybody."""
    trace = Trace().step(0, 100).launch(0, 4, kernel("a", 5, 25))
    trace.unlaunched(kernel("b", 60, 100))
    assert division(trace.build()) == {Cause.KERNEL: 60, Cause.LAUNCH: 5, Cause.UNKNOWN: 35}


def test_host_code_after_the_last_kernel_is_issuing() -> None:
    """A step that ends with host code for 30 us was still issuing, as far as the GPU can tell."""
    trace = Trace().step(0, 100).launch(0, 4, kernel("a", 5, 70))
    assert division(trace.build()) == {Cause.KERNEL: 65, Cause.LAUNCH: 35}


def test_only_copies_over_the_link_are_copies() -> None:
    """Copies within the GPU and memsets are its own work, and so is a copy beside a kernel."""
    trace = Trace().step(0, 100).launch(0, 4, copy(PINNED_HTOD, 5, 25), call="cudaMemcpyAsync")
    trace.launch(4, 6, copy(DTOD, 25, 40), call="cudaMemcpyAsync").launch(6, 8, memset(40, 50))
    trace.launch(8, 10, kernel("k", 50, 100))
    trace.launch(10, 12, copy(PINNED_HTOD, 55, 90, stream=8), call="cudaMemcpyAsync")
    assert division(trace.build()) == {Cause.KERNEL: 75, Cause.COPY: 20, Cause.LAUNCH: 5}


def test_streams_at_once_are_busy_once() -> None:
    """Two streams at work at once take the time of one."""
    trace = (
        Trace()
        .step(0, 100)
        .launch(0, 4, kernel("a", 5, 80))
        .launch(4, 8, kernel("b", 9, 100, stream=8))
    )
    assert division(trace.build()) == {Cause.KERNEL: 95, Cause.LAUNCH: 5}


def wait_then_issue(trace: Trace, wait: float, count: int) -> Trace:
    """Wait for one kernel, then issue kernels of 10 us every 50 us: 40 us idle before each."""
    trace.launch(0, 4, kernel("first", 5, 5 + wait)).call("cudaDeviceSynchronize", 5, 5 + wait)
    for number in range(count):
        at = wait + 40 + 50 * number
        trace.launch(at, at + 4, kernel("k", at + 5, at + 15))
    return trace


def test_lost_time_is_carried_to_later_gaps() -> None:
    """A host that waited 100 us is late for as long: gaps of 40 us, until 100 us are paid."""
    trace = wait_then_issue(Trace().step(0, 345), wait=100, count=5)
    assert division(trace.build()) == {
        Cause.KERNEL: 150,
        Cause.SYNC: 100,
        Cause.LAUNCH: 5 + 5 * 40 - 100,
    }


def test_each_gap_names_its_culprit() -> None:
    """A piece knows the call that made the GPU wait, and the work that ended the gap."""
    timeline = wait_then_issue(Trace().step(0, 345), wait=100, count=5).build()
    pieces = attribution_of(timeline).pieces
    waits = pieces.host_row[pieces.cause == Cause.SYNC]
    assert {timeline.names[timeline.host.name[row]] for row in waits} == {"cudaDeviceSynchronize"}
    assert pieces.ns[pieces.cause == Cause.SYNC].tolist() == [40_000, 40_000, 20_000]
    assert pieces.gpu_row[pieces.cause == Cause.SYNC].tolist() == [1, 2, 3]


def test_a_wait_cancels_what_was_lost_before() -> None:
    """After the host has waited for the GPU, an earlier pause no longer makes it late."""
    trace = Trace().step(0, 3000)
    for number in range(5):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 300 * number, 305 + 300 * number))
    trace.launch(1000, 1004, kernel("k", 1505, 1805)).call("cudaDeviceSynchronize", 1010, 1805)
    trace.launch(1825, 1829, kernel("k", 1830, 3000))
    spent = division(trace.build())
    assert spent[Cause.SYNC] == 25
    assert Cause.STARVED not in spent


def test_a_wait_that_returns_at_once_cancels_nothing() -> None:
    """A wait of a few microseconds found the GPU dry: the pause before it is still to blame."""
    trace = Trace().step(0, 1100)
    for number in range(5):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 10 * number, 15 + 10 * number))
    trace.call("cudaDeviceSynchronize", 1000, 1003).launch(1020, 1024, kernel("k", 1025, 1100))
    spent = division(trace.build())
    assert spent[Cause.STARVED] == 970
    assert Cause.SYNC not in spent


def test_latency_is_that_of_launches_to_an_idle_gpu() -> None:
    """The way from the host to the GPU is seen where the GPU was idle, and only there."""
    trace = Trace().step(0, 100).launch(0, 4, kernel("a", 7, 27)).launch(2, 6, kernel("b", 27, 47))
    assert attribution_of(trace.build()).launch_latency == 7_000


def test_each_device_is_divided_by_its_own_work() -> None:
    """Another GPU's kernels do not fill this one's gaps."""
    trace = Trace().step(0, 100).launch(0, 4, kernel("a", 5, 25))
    trace.launch(10, 14, kernel("b", 15, 95, device=1))
    timeline = trace.build()
    assert attribution_of(timeline, 0).ns[0, Cause.KERNEL] == 20_000
    assert attribution_of(timeline, 1).ns[0, Cause.KERNEL] == 80_000


def test_steps_are_divided_one_by_one() -> None:
    """The same step three times is divided three times alike."""
    timeline = steps(3, 100, lambda trace: trace.launch(0, 4, kernel("k", 5, 85)))
    found = attribution_of(timeline).ns / 1e3
    assert found[:, Cause.KERNEL].tolist() == [80, 80, 80]
    assert found[:, Cause.LAUNCH].tolist() == [20, 20, 20]


@given(recordings())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_nanosecond_is_in_exactly_one_share(timeline: Timeline) -> None:
    """Whatever was recorded, the shares of each step add up to the step, and none is negative."""
    for device in (0, 1):
        found = find_steps(timeline, device)
        divided = attribute(timeline, found, device)
        assert divided.ns.sum(axis=1).tolist() == found.duration.tolist()
        assert (divided.ns >= 0).all()
        assert (found.complete_from[1:] == found.complete_to[:-1]).all()
