"""A kernel whose own stream is free waits, because another stream holds the SMs."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import stream_interference
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found


def serve(*, tenant: bool, joined: bool = False) -> Timeline:
    """Serve requests of ten small kernels, each waited for, beside a tenant's large kernel."""
    begin = 1000 if tenant else 10

    def body(trace: Trace) -> None:
        if tenant:
            trace.launch(0, 4, kernel("large", 5, 1000, stream=9, grid=5000))
        for number in range(10):
            start = begin + 20 * number
            work = kernel("small", start, start + 20, grid=8)
            trace.launch(5 + 5 * number, 9 + 5 * number, work)
        if joined:
            trace.call("cudaStreamWaitEvent", 56, 58)
        trace.call("cudaStreamSynchronize", 60, begin + 205)

    return steps(4, begin + 210, body)


def test_a_tenant_that_holds_the_sms_is_found() -> None:
    """With SMs of its own the request takes what it takes alone, not the tenant's 990 us more.

    The last of four steps ends with its wait, 5 us before the next would begin.
    """
    finding = found(stream_interference, serve(tenant=True))
    assert finding.step_us_now == 1210 - 5 / 4
    assert finding.recoverable_us == pytest.approx(990, abs=1)
    assert finding.cures == ("partition",)
    assert evidence(finding, "kernels ready but waiting") == 990
    assert evidence(finding, "kernels held up") == 1
    assert evidence(finding, "waiting for large") == 990


def test_alone_nothing_is_found() -> None:
    """The same requests without the tenant wait for nobody."""
    assert find(stream_interference, serve(tenant=False)) is None


def test_streams_that_belong_together_do_not_interfere() -> None:
    """Where a stream waits for another's event, the step needs the other's work too."""
    assert find(stream_interference, serve(tenant=True, joined=True)) is None
