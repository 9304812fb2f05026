"""The GPU waits for the host to issue work."""

from __future__ import annotations

import pytest

from tailwave.model import Severity
from tailwave.recordings.causes import launch_bound
from tailwave.recordings.replay.host_changes import NODE_GAP_LONGEST_NS, NODE_GAP_NS, NODE_GAP_SHARE
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found

# What a kernel of 10 us takes within a graph, with the gap to the next one.
IN_GRAPH = 10 + (NODE_GAP_NS + NODE_GAP_SHARE * NODE_GAP_LONGEST_NS) / 1e3


def issue_slowly(trace: Trace) -> None:
    """Issue ten kernels of 10 us, one every 50 us."""
    for number in range(10):
        at = 50 * number
        trace.launch(at, at + 4, kernel("k", at + 5, at + 15))


def issue_in_time(trace: Trace) -> None:
    """Issue ten kernels of 50 us, one every 5 us."""
    for number in range(10):
        trace.launch(5 * number, 5 * number + 4, kernel("k", 5 + 50 * number, 55 + 50 * number))


def test_slow_issuing_is_found() -> None:
    """A step takes 50 us a launch; as a graph, what its kernels take.

    The last of the four steps ends with its last kernel, 35 us before the next would begin; in a
    graph the first kernel arrives 5 us after its launch, in the first step alone.
    """
    finding = found(launch_bound, steps(4, 500, issue_slowly))
    assert finding.step_us_now == 500 - 35 / 4
    assert finding.step_us_after == pytest.approx(10 * IN_GRAPH, rel=0.02)
    assert finding.recoverable_us == finding.step_us_now - (finding.step_us_after or 0)
    assert finding.severity == Severity.CRITICAL
    assert finding.cures == ("cuda-graph", "compile")


def test_the_evidence_says_how_the_time_is_lost() -> None:
    """Of 500 us the GPU works 100, in ten launches with 40 us of the host's before each."""
    finding = found(launch_bound, steps(4, 500, issue_slowly))
    assert evidence(finding, "GPU idle while the host was issuing") == 400 - 35 / 4
    assert evidence(finding, "GPU busy") == pytest.approx(100 / (500 - 35 / 4))
    assert evidence(finding, "launches in the step") == 10
    assert evidence(finding, "GPU idle per launch") == pytest.approx(40 - 35 / 40)


def test_a_busy_gpu_is_not_launch_bound() -> None:
    """Kernels that take as long as the host's whole step keep the GPU busy."""
    assert find(launch_bound, steps(4, 500, issue_in_time)) is None


def test_the_operator_is_named() -> None:
    """The evidence names the outermost operator, which is what the user's code called."""

    def body(trace: Trace) -> None:
        issue_slowly(trace)
        for number in range(10):
            trace.op("aten::linear", 50 * number - 10, 50 * number + 6)
            trace.op("aten::addmm", 50 * number - 8, 50 * number + 5)

    finding = found(launch_bound, steps(4, 500, body))
    assert evidence(finding, "waiting for aten::linear") == 400 - 35 / 4


def test_the_place_in_the_users_code_is_named() -> None:
    """With Python stacks, the innermost frame outside the framework is where it was called."""

    def body(trace: Trace) -> None:
        issue_slowly(trace)
        trace.frame("train.py(12): step", 0, 499).frame("torch/nn/module.py(5): call", 1, 498)

    finding = found(launch_bound, steps(4, 500, body))
    assert evidence(finding, "called from train.py(12): step") == 10


def test_a_wait_stays_and_cuts_the_graph() -> None:
    """A graph cannot hold a wait: its cost to the step stays, and the finding says so."""

    def body(trace: Trace) -> None:
        issue_slowly(trace)
        trace.call("cudaDeviceSynchronize", 480, 490)

    finding = found(launch_bound, steps(4, 500, body))
    assert (finding.step_us_after or 0) > 10 * IN_GRAPH
    assert "CUDA graphs" in finding.claim


def test_a_step_without_gpu_work_is_not_launch_bound() -> None:
    """There is nothing to put into a graph where nothing was launched."""
    trace = Trace().launch(0, 4, kernel("warm", 5, 10))
    for number in range(3):
        trace.at(100 + 100 * number).step(0, 100, number).op("aten::empty", 0, 50)
    assert find(launch_bound, trace.build()) is None
