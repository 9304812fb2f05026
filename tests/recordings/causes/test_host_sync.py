"""The host waits for the GPU, and then the GPU waits for the host."""

from __future__ import annotations

from tailwave.recordings.causes import host_sync
from tests.builders import PAGEABLE_DTOH, Trace, copy, kernel, steps
from tests.recordings.causes.cases import evidence, find, found


def issue(trace: Trace) -> None:
    """Issue ten kernels of 20 us, well ahead of the GPU."""
    for number in range(10):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 20 * number, 25 + 20 * number))


def issue_and_wait(trace: Trace) -> None:
    """Issue, then wait until the GPU is dry; the next step begins 10 us later."""
    issue(trace)
    trace.call("cudaDeviceSynchronize", 50, 210)


def test_a_wait_that_runs_the_gpu_dry_is_found() -> None:
    """Each step idles for 20 us around the wait, and takes its 200 us of kernels without.

    The first of the four begins 5 us before its kernels, which is no wait's; the last ends 10 us
    earlier, with its wait.
    """
    finding = found(host_sync, steps(4, 220, issue_and_wait))
    assert finding.step_us_now == 220 - 10 / 4
    assert finding.step_us_after == 200 + 5 / 4
    assert finding.cures == ("remove-sync",)
    assert evidence(finding, "GPU idle after the host had waited") == 20 - (5 + 10) / 4
    assert evidence(finding, "waits in cudaDeviceSynchronize") == 1


def test_without_the_wait_there_is_nothing_to_find() -> None:
    """The same kernels, issued ahead, keep the GPU busy."""
    assert find(host_sync, steps(4, 60, issue, gpu=200)) is None


def test_a_wait_for_work_that_is_not_the_last_costs_nothing() -> None:
    """A host that waits for the step before last keeps a step of work queued."""

    def body(trace: Trace) -> None:
        issue(trace)
        trace.call("cudaEventSynchronize", 100, 195)

    trace = Trace()
    for number in range(1, 5):
        body(trace.at(200 * number, 200 * number + 150).step(0, 200, number))
    assert find(host_sync, trace.build()) is None


def test_the_operator_that_waits_is_named() -> None:
    """What the user's code called is aten::item, and all of it is the wait."""

    def body(trace: Trace) -> None:
        issue(trace)
        trace.op("aten::item", 50, 215)
        trace.launch(52, 55, copy(PAGEABLE_DTOH, 206, 207, size=4), call="cudaMemcpyAsync")
        trace.call("cudaStreamSynchronize", 56, 212)

    finding = found(host_sync, steps(4, 220, body))
    assert evidence(finding, "idle after aten::item") == 18 - (5 + 5) / 4
    assert evidence(finding, "waits in aten::item (cudaStreamSynchronize)") == 1
    assert finding.step_us_after == 200 + 5 / 4


def test_an_allocation_that_stops_the_device_is_a_wait() -> None:
    """A cudaFree in the step waits for the GPU as a synchronize does."""

    def body(trace: Trace) -> None:
        issue(trace)
        trace.call("cudaFree", 50, 210)

    assert found(host_sync, steps(4, 220, body)).step_us_after == 200 + 5 / 4


def test_several_waits_a_step_are_counted() -> None:
    """Two waits a step, and the claim says twice."""

    def body(trace: Trace) -> None:
        issue_and_wait(trace)
        trace.launch(212, 216, kernel("k", 217, 297)).call("cudaDeviceSynchronize", 218, 302)

    finding = found(host_sync, steps(4, 310, body))
    assert "2 times a step" in finding.claim
    assert evidence(finding, "waits in cudaDeviceSynchronize") == 2
