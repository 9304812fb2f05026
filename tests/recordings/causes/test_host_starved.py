"""Nothing on the host was issuing work."""

from __future__ import annotations

import pytest

from tailwave.recordings.causes import host_contention, host_starved
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found


def issue(trace: Trace, after: float) -> None:
    """Issue ten kernels of 20 us, some time into the step."""
    for number in range(10):
        at = after + 5 * number
        trace.launch(at, at + 4, kernel("k", after + 5 + 20 * number, after + 25 + 20 * number))


def pause(trace: Trace) -> None:
    """Do nothing for 800 us, then issue."""
    issue(trace, 800)


def test_a_pause_in_every_step_is_found() -> None:
    """Fed in time, a step of 1000 us takes the 200 us of its kernels."""
    finding = found(host_starved, steps(4, 1000, pause))
    assert finding.step_us_now == pytest.approx(1000)
    assert finding.step_us_after == 200
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


def test_the_data_loader_is_named() -> None:
    """The framework's loader marks its time, so the evidence says that it was that."""

    def body(trace: Trace) -> None:
        trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 800)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 1000, body))
    assert "enumerate(DataLoader)" in finding.claim


@pytest.mark.parametrize(("low", "high"), [(0, 700), (50, 800)])
def test_an_operator_at_either_end_of_the_loader_is_named_with_it(low: float, high: float) -> None:
    """It begins with the loader's mark, or ends with it."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def body(trace: Trace) -> None:
        trace.annotation(loader, 0, 800).op("aten::cat", low, high)
        issue(trace, 800)

    claim = found(host_starved, steps(4, 1000, body)).claim
    assert f"aten::cat in {loader}, {high - low} us" in claim


def test_an_operator_before_the_loader_is_not_the_loaders() -> None:
    """Only what lies within its mark is named with it."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def body(trace: Trace) -> None:
        trace.op("aten::normal_", 0, 400).annotation(loader, 450, 800)
        issue(trace, 800)

    assert "(aten::normal_, 400 us)" in found(host_starved, steps(4, 1000, body)).claim


def test_the_longest_pauses_say_after_which_line_they_came() -> None:
    """Of three, wherever in the step they are."""

    def body(trace: Trace) -> None:
        at = 0.0
        for line, pause_us in enumerate((600, 1500, 900, 1200), start=1):
            trace.frame(f"train.py({line}): f", at, at + 50)
            issue(trace, at)
            at += 50 + pause_us

    evidence_of = found(host_starved, steps(4, 4_400, body)).evidence
    lines = [item.what for item in evidence_of if item.what.startswith("last call")]
    assert lines == [f"last call before it from train.py({line}): f" for line in (2, 3, 4)]


def test_a_mark_of_the_step_explains_no_pause() -> None:
    """What explains it is the frame around the step."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 9, 20))
        issue(trace, 800)

    trace = Trace().frame("train.py(7): epoch", -1, 3_600)
    assert "train.py(7): epoch" in found(host_starved, steps(4, 900, body, trace)).claim


def test_an_operator_of_the_loader_is_named_with_it() -> None:
    """What collates a batch takes the time, and the loader is what it belongs to."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def body(trace: Trace) -> None:
        trace.annotation(loader, 0, 800).op("aten::cat", 50, 750)
        issue(trace, 800)

    finding = found(host_starved, steps(4, 1000, body))
    assert f"aten::cat in {loader}, 700 us" in finding.claim
    assert evidence(finding, f"host in {loader}, 2 times") == 100


def test_what_filled_a_pause_is_named_from_the_stack() -> None:
    """With Python stacks, the innermost frame over most of the pause is what filled it."""

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
    assert finding.step_us_after < 210


def test_the_interpreters_own_pauses_are_not_starvation() -> None:
    """Pauses of 300 us are too short to be told from slow Python: they are issuing."""
    assert find(host_starved, steps(4, 500, lambda trace: issue(trace, 300))) is None
