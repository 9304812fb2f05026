"""Nothing on the host was issuing work."""

from __future__ import annotations

import pytest

from tailwave.recordings.causes import host_contention, host_starved
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def issue(trace: Trace, after: float) -> None:
    """Issue ten kernels of 20 us, some time into the step."""
    for number in range(10):
        at = after + 5 * number
        trace.launch(at, at + 4, kernel("k", after + 5 + 20 * number, after + 25 + 20 * number))


def pause(trace: Trace) -> None:
    """Do nothing for 800 us, then issue."""
    issue(trace, 800)


def test_a_pause_in_every_step_is_found() -> None:
    """Fed in time, a step of 1000 us takes the 200 us of its kernels.

    The first of four steps begins 5 us before its first kernel can.
    """
    finding = found(host_starved, steps(4, 1000, pause))
    assert finding.step_us_now == 1000 + 5 / 4
    assert finding.step_us_after == 200 + 5 / 4
    assert finding.cures == ("prefetch", "gpu-preprocessing")
    assert evidence(finding, "GPU idle while the host issued nothing") == 800


def test_a_pause_in_every_step_is_no_contention() -> None:
    """What stalls at one place of every step is an input pipeline, no lock."""
    assert find(host_contention, steps(4, 1000, pause)) is None


def test_a_pause_that_the_gpu_does_not_feel_is_not_found() -> None:
    """While the GPU has a step of work queued, the host may do something else."""

    def body(trace: Trace) -> None:
        for number in range(10):
            at, begin = 5 * number, 5 + 100 * number
            trace.launch(at, at + 4, kernel("k", begin, begin + 100))

    assert find(host_starved, steps(4, 1000, body)) is None


def test_without_the_pause_there_is_nothing_to_find() -> None:
    """The same kernels, issued at once, keep the GPU busy."""
    assert find(host_starved, steps(4, 60, lambda trace: issue(trace, 0), gpu=200)) is None


@pytest.mark.parametrize("within", [(), (0, 700), (50, 750), (50, 800)])
def test_the_data_loader_is_named(within: tuple[float, ...]) -> None:
    """The framework's loader marks its time, and what runs within is the loader's."""

    def body(trace: Trace) -> None:
        trace.annotation(LOADER, 0, 800)
        if within:
            trace.op("aten::cat", *within)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 1000, body))
    assert "(DataLoader.__next__, 800 us a step)" in finding.claim


def test_an_operator_before_the_loader_is_not_the_loaders() -> None:
    """Only what lies within its mark is the loader's."""

    def body(trace: Trace) -> None:
        trace.op("aten::normal_", 0, 400).annotation(LOADER, 450, 800)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 1000, body))
    assert evidence(finding, "host in aten::normal_, once") == 400
    assert evidence(finding, "host in DataLoader.__next__, once") == 350


def test_what_launches_kernels_names_no_pause() -> None:
    """The mark of the step and the frame around all steps tell nothing of a pause in them."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 9, 20))
        issue(trace, 800)

    trace = Trace().frame("train.py(7): epoch", -1, 3_600)
    claim = found(host_starved, steps(4, 900, body, trace)).claim
    assert "(a pause after cudaLaunchKernel, 796 us a step)" in claim


def test_what_filled_a_pause_is_named_from_the_stack() -> None:
    """With Python stacks, a frame over most of the pause that launches nothing filled it."""

    def body(trace: Trace) -> None:
        trace.frame("train.py(7): main", 0, 860).frame("data.py(3): decode", 5, 795)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 860, body))
    assert "data.py(3): decode" in finding.claim


def test_preprocessing_on_the_cpu_is_starvation() -> None:
    """An operator of 800 us that issues nothing is work, but none for the GPU."""

    def body(trace: Trace) -> None:
        trace.op("aten::bernoulli_", 0, 798)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 1000, body))
    assert "aten::bernoulli_" in finding.claim
    assert (finding.step_us_after or 0) == pytest.approx(200, abs=10)


def test_the_interpreters_own_pauses_are_not_starvation() -> None:
    """Pauses of 300 us are too short to be told from slow Python: they are issuing."""
    assert find(host_starved, steps(4, 500, lambda trace: issue(trace, 300))) is None
