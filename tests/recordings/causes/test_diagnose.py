"""From recordings to a diagnosis: ranking, doubts, several ranks, and recordings of every kind."""

from __future__ import annotations

import inspect
import math
from types import ModuleType

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tailwave.model import Diagnosis, Timeline
from tailwave.recordings.causes import RULES
from tailwave.recordings.causes.diagnose import diagnose
from tests.builders import (
    PAGEABLE_DTOH,
    PAGEABLE_HTOD,
    PINNED_HTOD,
    Trace,
    copy,
    kernel,
    steps,
)
from tests.recordings.timeline.recordings import recordings

HEADINGS = ["What it means:", "How it is found:", "What cures it:", "What fools it:"]


def codes(diagnosis: Diagnosis) -> list[str]:
    """Give the findings' codes, greatest first."""
    return [finding.code for finding in diagnosis.findings]


def issue(trace: Trace, *, every: float = 50, took: float = 10, stream: int = 7) -> Trace:
    """Issue ten kernels, one every so often, each of which takes so long."""
    for number in range(10):
        at = every * number
        trace.launch(at, at + 4, kernel("k", at + 5, at + 5 + took, stream=stream))
    return trace


def run(*timelines: Timeline) -> Diagnosis:
    """Diagnose some ranks."""
    return diagnose(timelines, "by hand")


def test_findings_are_ranked_by_what_comes_back() -> None:
    """A step that starves for 800 us and issues slowly for 400 names both, the greater first."""

    def body(trace: Trace) -> None:
        trace.annotation("enumerate(DataLoader)#x", 0, 800)
        for number in range(10):
            at = 800 + 50 * number
            trace.launch(at, at + 4, kernel("k", at + 5, at + 15))

    found = run(steps(4, 1300, body))
    assert codes(found) == ["host-starved", "launch-bound"]
    assert [finding.recoverable_us or 0 for finding in found.findings] == sorted(
        (finding.recoverable_us or 0 for finding in found.findings), reverse=True
    )


def test_the_division_adds_up_to_the_step() -> None:
    """Every microsecond of the step is in exactly one share, the greatest share first.

    The last of four steps ends with its last kernel, 35 us before the next would begin.
    """
    found = run(steps(4, 500, issue))
    assert {share.what: share.us for share in found.division} == {
        "launch-bound": 400 - 35 / 4,
        "kernels": 100,
    }
    assert [share.what for share in found.division] == ["launch-bound", "kernels"]


def test_a_healthy_recording_has_no_findings() -> None:
    """Kernels back to back, issued ahead: nothing to say."""

    def body(trace: Trace) -> None:
        for number in range(10):
            begin = 5 + 50 * number
            trace.launch(5 * number, 5 * number + 4, kernel("k", begin, begin + 50, grid=1056))

    found = run(steps(4, 60, body, gpu=500))
    assert (codes(found), found.notes, found.withheld) == ([], (), ())


def test_what_the_recording_cannot_bear_is_withheld() -> None:
    """With a third of the GPU's work lost, findings are named but not made."""
    trace = Trace()
    steps(4, 500, issue, trace)
    trace.at(0)
    for number in range(20):
        trace.launch(45 + 100 * number, 47 + 100 * number)
    found = run(trace.build())
    assert codes(found) == []
    assert found.withheld == ("launch-bound",)
    assert "Withheld, because the recording is not sound enough: launch-bound." in found.notes


def test_the_slowest_rank_is_shown() -> None:
    """Of several ranks the slowest one holds up the others; the notes list them all."""
    ranks = []
    for rank, every in enumerate((50, 80, 60)):
        trace = Trace(rank=rank)
        steps(4, 10 * every, lambda t, every=every: issue(t, every=every), trace)  # type: ignore[misc]
        ranks.append(trace.build())
    found = run(*ranks)
    assert found.source.ranks == (0, 1, 2)
    assert found.source.events == sum(timeline.events for timeline in ranks)
    assert found.steps is not None
    assert found.steps.median_us == 800
    assert found.notes[0].startswith("3 ranks; shown is rank 1. rank 0: 0.49 ms")


def test_a_rank_without_gpu_work_does_not_hide_the_others() -> None:
    """A rank that recorded no GPU is listed without steps."""
    found = run(Trace(rank=0).op("aten::mm", 0, 5).build(), steps(4, 500, issue))
    assert found.steps is not None
    assert "rank 0: no steps, no finding" in found.notes[0]


def test_without_a_timeline_there_is_no_diagnosis() -> None:
    """No input is the caller's mistake."""
    with pytest.raises(ValueError, match="no timeline"):
        diagnose([], "nothing")


def test_a_recording_of_the_cpu_alone_says_so() -> None:
    """Without GPU activity there are no steps, and a note says what to record."""
    found = run(Trace().step(0, 100).op("aten::mm", 0, 50).build())
    assert (found.device, found.steps, found.findings, found.division) == (None, None, (), ())
    assert found.notes == (
        "The recording holds no GPU activity: nothing can be said about the GPU.",
    )


def test_an_empty_recording_says_so() -> None:
    """Nothing recorded is no reason to fail."""
    assert run(Trace().build()).steps is None


def test_a_recording_of_no_length_says_so() -> None:
    """Where every event lasts 0 ns there is no time to be divided."""
    found = run(Trace().step(5, 5).launch(5, 5, kernel("k", 5, 5)).build())
    assert found.steps is None
    assert found.notes[-1] == "The usual step lasts 0 ns: there is no time to be divided."


def test_a_recording_of_the_gpu_alone_is_divided() -> None:
    """Without any launch the idle time is of unknown origin, and the waves can still be judged."""
    trace = Trace()
    for number in range(4):
        trace.unlaunched(kernel("k", 200 * number, 200 * number + 102, grid=66))
    found = run(trace.build())
    assert {share.what: share.us for share in found.division} == {
        "kernels": 208,
        "small-grid": 200,
        "unknown": 294,
    }
    assert set(codes(found)) <= {"small-grid"}


def test_a_single_long_step_is_diagnosed() -> None:
    """One step is enough to say where its time went."""
    found = run(issue(Trace().step(0, 500)).build())
    assert codes(found) == ["launch-bound"]


def test_many_empty_steps_do_not_hide_the_full_ones() -> None:
    """Steps in which nothing was launched are steps all the same, and shorter ones."""
    trace = Trace()
    for number in range(9):
        trace.at(500 * number).step(0, 500, number)
        if number % 3 == 0:
            issue(trace)
    found = run(trace.build())
    assert found.steps is not None
    assert found.steps.count >= 7


def test_copies_alone_are_diagnosed() -> None:
    """A recording without a single kernel is bound by its copies."""

    def body(trace: Trace) -> None:
        work = copy(PAGEABLE_HTOD, 5, 1000, size=11_000_000)
        trace.launch(0, 1004, work, call="cudaMemcpyAsync")

    assert codes(run(steps(4, 1010, body)))[:1] == ["blocking-copy"]


def test_graph_launches_alone_are_healthy() -> None:
    """A step that is one graph launch is not waiting for launches."""

    def body(trace: Trace) -> None:
        nodes = [kernel("k", 10 + 10 * n, 20 + 10 * n, grid=1056) for n in range(50)]
        trace.launch(0, 9, *nodes, call="cudaGraphLaunch")

    assert codes(run(steps(4, 20, body, gpu=500))) == []


def test_two_threads_that_issue_at_once_are_diagnosed() -> None:
    """Each thread is a line of its own; both issue slowly, and the GPU waits for both."""
    trace = Trace()
    for number in range(4):
        trace.at(500 * number).thread("main").step(0, 500, number).op("aten::a", 0, 499)
        issue(trace)
        trace.thread("other").op("aten::b", 0, 499)
        issue(trace, stream=8)
    assert codes(run(trace.build()))[:1] == ["launch-bound"]


def test_threads_alike_in_two_processes_are_diagnosed() -> None:
    """Two processes may number their threads alike; each is its own."""
    trace = Trace()
    for number in range(4):
        trace.at(500 * number).thread("7", pid="1").step(0, 500, number)
        issue(trace)
        trace.thread("7", pid="2").call("cudaDeviceSynchronize", 100, 400)
    assert codes(run(trace.build()))[:1] == ["launch-bound"]


def test_names_of_rocm_are_understood() -> None:
    """HIP's calls and ROCm's copies are the same calls and copies."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, copy("CopyHostToDevice", 5, 25), call="hipMemcpyWithStream")
        for number in range(10):
            at = 30 + 20 * number
            work = kernel("Cijk_Ailk_Bljk", 45 + 50 * number, 95 + 50 * number)
            trace.launch(at, at + 4, work, call="hipExtModuleLaunchKernel")
        trace.call("hipDeviceSynchronize", 240, 550)

    found = run(steps(4, 560, body))
    shares = {share.what: share.us for share in found.division}
    assert (shares["kernels"], shares["copies"]) == (500, 20)
    assert "host-sync" in shares


def test_whole_microseconds_are_understood() -> None:
    """A recorder that rounds may leave calls and kernels of no length."""

    def body(trace: Trace) -> None:
        for number in range(10):
            at = 5 * number
            trace.launch(at, at, kernel("k", at + 2, at + 2), kernel("l", at + 3, at + 4))

    found = run(steps(4, 50, body))
    assert found.steps is not None
    assert found.steps.median_us == 50
    assert found.notes[0] == "40 GPU events of 80 last 0 ns (rounded down)."


def test_collectives_alone_are_a_share_of_their_own() -> None:
    """Time in which nothing but a collective ran is neither kernels nor idle."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k", 5, 105, grid=1056))
        reduce = kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 55, 205, stream=20, grid=24)
        trace.launch(5, 9, reduce)

    found = run(steps(4, 20, body, gpu=200))
    shares = {share.what: share.us for share in found.division}
    assert (shares["collectives"], shares["kernels"]) == (100, 100)
    assert codes(found) == []


def test_a_data_loader_and_a_sync_are_told_apart() -> None:
    """A training step that loads for 300 us and then fetches its loss names the loader first."""

    def body(trace: Trace) -> None:
        trace.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 300)
        trace.launch(302, 306, copy(PINNED_HTOD, 307, 317, size=1000), call="cudaMemcpyAsync")
        for number in range(10):
            at = 310 + 5 * number
            trace.launch(at, at + 4, kernel("k", 320 + 20 * number, 340 + 20 * number))
        trace.op("aten::item", 365, 530)
        trace.launch(366, 369, copy(PAGEABLE_DTOH, 521, 522, size=4), call="cudaMemcpyAsync")
        trace.call("cudaStreamSynchronize", 370, 528)

    assert codes(run(steps(4, 535, body)))[0] == "host-starved"


def test_negative_times_change_nothing() -> None:
    """A trace may count its time from anywhere."""
    at_zero, before = Trace(), Trace()
    for number in range(4):
        issue(at_zero.at(500 * number).step(0, 500, number))
        issue(before.at(500 * number - 90_000).step(0, 500, number))
    assert run(before.build()) == run(at_zero.build())


@given(recordings())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_whatever_was_recorded_is_diagnosed(timeline: Timeline) -> None:
    """No recording makes a diagnosis fail, contradict itself or hold a figure that is no number."""
    found = run(timeline)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Diagnosis) == found
    for finding in found.findings:
        assert 0 < finding.share <= 1
        assert (finding.recoverable_us is None) == (finding.step_us_after is None)
        if finding.recoverable_us is not None and finding.step_us_after is not None:
            assert 0 < finding.recoverable_us <= finding.step_us_now
            left = finding.step_us_now - finding.recoverable_us
            assert finding.step_us_after == pytest.approx(left)
        assert all(e.value is None or math.isfinite(e.value) for e in finding.evidence)
    if found.steps is not None:
        total = sum(share.us for share in found.division)
        assert total == pytest.approx(found.steps.mean_us)
        assert all(share.us > 0 for share in found.division)


@pytest.mark.parametrize("rule", RULES, ids=[rule.CODE for rule in RULES])
def test_every_rule_explains_itself_under_the_four_headings(rule: ModuleType) -> None:
    """A rule says what it means, how it is found, what cures it, what fools it, in this order."""
    lines = inspect.cleandoc(rule.__doc__ or "").splitlines()
    assert [line for line in lines if line.endswith(":") and not line.startswith(" ")] == HEADINGS
    assert lines[0].endswith(".")
