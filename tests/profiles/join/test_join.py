"""Counters and a recording together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.model import Diagnosis, Finding, KernelDiagnosis, Severity, Timeline
from tailwave.profiles.join import Join
from tailwave.profiles.rules.diagnose import diagnose_kernels
from tailwave.recordings.causes.diagnose import diagnose
from tests.builders import H200, Trace, kernel, steps
from tests.profiles.rules.profiles import kept

PROFILED = diagnose_kernels(kept("planted_faults"))


def recording(name: str, *, grid: int, block: int = 256, share: float = 0.4) -> Timeline:
    """Record steps of 1 ms in which a kernel takes a share and one without a profile the rest."""
    took = 1000 * share

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel(name, 5, 5 + took, grid=grid, block=block))
        trace.launch(5, 9, kernel("rest", 5 + took, 1005, grid=1056))

    return steps(4, 30, body, gpu=1000)


def joined(timeline: Timeline) -> Diagnosis:
    """Diagnose a recording with the profile of the planted faults."""
    return diagnose([timeline], "both", Join(PROFILED))


def finding(diagnosis: Diagnosis, code: str) -> Finding:
    """Return the finding of a cause."""
    (one,) = (finding for finding in diagnosis.findings if finding.code == code)
    return one


def placed(diagnosis: Diagnosis) -> list[KernelDiagnosis]:
    """Return the kernels that were found in the recording."""
    return [kernel for kernel in diagnosis.kernels if kernel.in_trace]


def test_a_kernels_loss_is_counted_in_the_step() -> None:
    """40% of the step, 97% of it lost to bank conflicts: 39% of the step."""
    conflict = finding(joined(recording("k01(float*)", grid=1320)), "bank-conflict")
    assert conflict.claim.startswith(
        "k01 is 40% of the step and loses 97% of that, 39% of the step."
    )
    assert conflict.severity is Severity.CRITICAL
    assert conflict.step_us_now == pytest.approx(1000, rel=0.01)
    assert conflict.recoverable_us == pytest.approx(387, rel=0.01)


def test_the_kernels_place_is_told() -> None:
    """How often, how long, how much of the step, and what tied it."""
    (kernel_,) = placed(joined(recording("k01(float*)", grid=1320)))
    place = kernel_.in_trace
    assert place is not None
    assert (place.calls, place.step_us) == (1, 400)
    assert place.step_share == pytest.approx(0.4, rel=0.01)
    assert place.matched_by == "by name, grid and block"


def test_what_has_no_counterpart_is_listed() -> None:
    """Profiles that the step does not run, and kernels that were not profiled."""
    notes = joined(recording("k01(float*)", grid=1320)).notes
    assert any(note.startswith("Profiled, but not in the recording's step: ") for note in notes)
    assert "Kernels without a profile are 60% of kernel time: rest." in notes


def test_counters_correct_what_a_grid_suggests() -> None:
    """1320 CTAs where 1056 make a wave look like a tail; their SMs are counted busy to the end."""
    timeline = recording("k11(float *, int)", grid=1320)
    alone = diagnose([timeline], "alone")
    assert [one.code for one in alone.findings] == ["wave-tail"]
    together = joined(timeline)
    assert [one.code for one in together.findings] == []
    assert any(note.startswith("Of wave-tail, grids suggest 149 us") for note in together.notes)


def test_counters_confirm_a_tail() -> None:
    """133 CTAs that have an SM each: what is lost is what was counted."""
    tail = finding(joined(recording("k03(float *, int)", grid=133, block=1024)), "wave-tail")
    evidence = {one.what: one.value for one in tail.evidence}
    assert evidence["in profiled kernels, by their counters"] == pytest.approx(196.66, abs=0.01)


def test_another_grid_keeps_only_what_does_not_depend_on_it() -> None:
    """Of a grid of 1000 CTAs nothing is known about SMs that idle; conflicts stay conflicts."""
    uneven = joined(recording("k10(float *, int, int)", grid=1000))
    assert "sm-imbalance" not in {one.code for one in uneven.findings}
    assert any("was matched by name alone" in note for note in uneven.notes)
    same = joined(recording("k10(float *, int, int)", grid=528))
    assert finding(same, "sm-imbalance").recoverable_us == pytest.approx(354, rel=0.01)
    conflicts = joined(recording("k01(float *)", grid=1000))
    assert finding(conflicts, "bank-conflict").recoverable_us == pytest.approx(387, rel=0.01)


def test_nothing_in_common_is_nothing_added() -> None:
    """The recording's own findings stay as they are."""
    timeline = recording("unknown", grid=1320)
    assert joined(timeline).findings == diagnose([timeline], "alone").findings
    assert placed(joined(timeline)) == []


def test_what_other_kernels_lose_is_told_apart() -> None:
    """k03's tail is counted; the other's 1.125 waves suggest 0.875 of two, of 598 us in a step."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k03(float *, int)", 5, 405, grid=133, block=1024))
        trace.launch(5, 9, kernel("rest", 405, 1005, grid=1188))

    tail = finding(joined(steps(4, 30, body, gpu=1000)), "wave-tail")
    parts = {one.what: one.value for one in tail.evidence}
    assert parts["in profiled kernels, by their counters"] == pytest.approx(196.66, abs=0.01)
    assert parts["in other kernels, as their grids suggest"] == pytest.approx(261.62, abs=0.01)


def test_all_launches_of_a_step_are_counted() -> None:
    """Twice in a step, at the times that the recording has: the profile's clock says nothing."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k01(float *)", 5, 105, grid=1320))
        trace.launch(5, 9, kernel("k01(float *)", 105, 405, grid=1320))
        trace.launch(10, 14, kernel("rest", 405, 1005, grid=1056))

    (one,) = placed(joined(steps(4, 30, body, gpu=1000)))
    assert one.in_trace is not None
    assert (one.in_trace.calls, one.in_trace.step_us) == (2, 400)


def test_kernels_of_the_step_come_first() -> None:
    """A healthy kernel that the step runs before ailing ones that it does not."""
    diagnosis = joined(recording("k11(float *, int)", grid=1320))
    assert diagnosis.kernels[0].name == "k11(float *, int)"
    assert len(diagnosis.kernels) == len(PROFILED)


def test_a_recording_of_another_device_is_noted() -> None:
    """Shares may differ there; of a device without a name nothing can be said."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("k01(float *)", 5, 1005, grid=1320))

    def notes(name: str) -> list[str]:
        trace = Trace(devices=(replace(H200, name=name),))
        diagnosis = joined(steps(4, 30, body, trace, gpu=1000))
        return [note for note in diagnosis.notes if "the profile of" in note]

    assert notes("NVIDIA A100") == [
        "The recording is of NVIDIA A100, the profile of NVIDIA H200: shares may differ."
    ]
    assert notes("") == []
    assert notes("NVIDIA H200") == []
