"""Counters and a recording together."""

from __future__ import annotations

import pytest

from tailwave.kernel_rules.diagnose import diagnose_kernels
from tailwave.kernel_rules.join import Join
from tailwave.model import Diagnosis, Finding, KernelDiagnosis, Severity, Timeline
from tailwave.rules.diagnose import diagnose
from tests.builders import Trace, kernel, steps
from tests.kernel_rules.profiles import kept

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
        "k01(float *) is 40% of the step and loses 97% of that, 39% of the step."
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
