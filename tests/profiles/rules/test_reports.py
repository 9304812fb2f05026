"""Reports of an H200: kernels with one planted fault each, and two that exercise nothing."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tailwave.model import KernelDiagnosis, KernelProfiles, Severity
from tailwave.profiles.rules.diagnose import diagnose_launches, diagnose_profiles
from tests.places import DATA
from tests.profiles.rules.profiles import kept

REPORTS = DATA / "ncu"
PLANTED = kept("planted_faults")
# By launch: what must come first, "" for healthy kernels.
TRUTH = (
    "bank-conflict",
    "",
    "wave-tail",
    "",
    "small-grid",
    "atomic-contention",
    "memory-latency",
    "barrier-stall",
    "divergence",
    "",
    "uncoalesced",
    "sm-imbalance",
    "",
    "low-occupancy",
    None,  # double precision: a pipe at work, which no rule calls a fault
    "spin-wait",
)
NAMES = [f"{number}-{profile.name.partition('(')[0]}" for number, profile in enumerate(PLANTED)]
FAULTY = [number for number, code in enumerate(TRUTH) if code]
HEALTHY = [number for number, code in enumerate(TRUTH) if code == ""]


def diagnosed(number: int) -> KernelDiagnosis:
    """Diagnose one launch of the planted faults."""
    return diagnose_launches([PLANTED[number]])


@pytest.mark.parametrize("number", FAULTY, ids=[NAMES[number] for number in FAULTY])
def test_the_planted_cause_comes_first(number: int) -> None:
    """The fault that the kernel was written with is the costliest found, and no small matter."""
    first = diagnosed(number).findings[0]
    assert first.code == TRUTH[number]
    assert first.severity in {Severity.MAJOR, Severity.CRITICAL}
    assert first.metrics
    assert first.evidence


@pytest.mark.parametrize("number", HEALTHY, ids=[NAMES[number] for number in HEALTHY])
def test_nothing_is_held_against_a_healthy_kernel(number: int) -> None:
    """Padded shared memory, whole waves, a streaming copy and dense FMA: nothing above info."""
    assert {finding.severity for finding in diagnosed(number).findings} <= {Severity.INFO}


@pytest.mark.parametrize("number", range(len(PLANTED)), ids=NAMES)
def test_every_question_is_answered(number: int) -> None:
    """A report with these sections lacks nothing that a rule asks for."""
    lacking = {one.code: one.metrics for one in diagnosed(number).unanswered}
    assert lacking == {}, "the kept reports in tests/data/kernels/ lack counters: record them anew"


def test_the_shares_of_planted_faults() -> None:
    """What each fault costs of its kernel, to the hundredth."""
    shares = {number: round(diagnosed(number).findings[0].share, 2) for number in FAULTY}
    assert shares == {
        0: 0.97,
        2: 0.49,
        4: 0.93,
        5: 0.78,
        6: 0.49,
        7: 0.34,
        8: 0.72,
        10: 0.74,
        11: 0.89,
        13: 0.6,
        15: 0.29,
    }


def test_double_precision_is_named_as_a_busy_pipe() -> None:
    """Sine and cosine in double precision: the FP64 pipe is among the busiest, no fault is."""
    diagnosis = diagnosed(14)
    assert "the FP64 pipe 47%" in diagnosis.bound
    assert {finding.severity for finding in diagnosis.findings} <= {Severity.MINOR, Severity.INFO}


def test_ncu_calls_a_full_last_wave_a_tail_and_is_contradicted() -> None:
    """Dense FMA in 1.25 waves: ncu's rule estimates 50%, while no SM idles."""
    (dispute,) = diagnosed(12).disputed
    assert "LaunchConfiguration (Tail Effect) estimates 50% of the kernel" in dispute
    assert "tailwave 0% for wave-tail" in dispute
    assert "however full it is" in dispute


def test_what_ncu_says_of_the_same_stands_beside_a_finding() -> None:
    """Where both agree, ncu's estimate is given as it is."""
    assert diagnosed(2).findings[0].theirs == (
        "ncu's LaunchConfiguration (Tail Effect) estimates 50% of the kernel.",
    )
    (theirs,) = diagnosed(11).findings[0].theirs
    assert "does not take off what the grid's size explains" in theirs


def test_the_articles_kernels_exercise_nothing() -> None:
    """Neither bank conflicts nor the fabric: a profile of these kernels tells nothing of them."""
    files = [KernelProfiles(kept("article_tests"), "ncu-report", "article_tests.ncu-rep")]
    diagnosis = diagnose_profiles(files, "article_tests.ncu-rep")
    assert [(kernel.name, kernel.launches) for kernel in diagnosis.kernels] == [
        ("wsp_test()", 3),
        ("arb_test()", 3),
    ]
    for kernel in diagnosis.kernels:
        assert any("bank conflicts (none:" in text for text in kernel.absent)
        assert any("fabric (104 sectors, <0.1% of its peak)" in text for text in kernel.absent)
    assert "bank conflicts" in diagnosis.notes[-1]
    assert "the L2's fabric" in diagnosis.notes[-1]


def test_three_ratios_by_counters_that_exist() -> None:
    """Dispatch stalls, memory stalls and cycles without an issue, as shares of what they are of."""
    figures = {figure.what: figure.value for figure in diagnosed(5).figures}
    assert figures["warps' latency for dispatch"] == pytest.approx(2.35e-6, rel=0.01)
    assert figures["for memory and its queue"] == pytest.approx(0.882, abs=0.001)
    assert figures["scheduler cycles without an issue"] == pytest.approx(1 - 0.005331, abs=1e-6)


@pytest.mark.parametrize("name", ["planted_faults", "article_tests"])
def test_the_report_itself_says_the_same(name: str, tmp_path: Path) -> None:
    """What is kept of a report is what its reader gives: the diagnoses are equal."""
    pytest.importorskip("ncu_report")
    from tailwave.profiles.ncu import read_profiles  # noqa: PLC0415 - only where it can read reports

    report = tmp_path / f"{name}.ncu-rep"
    report.write_bytes(gzip.decompress((REPORTS / f"{name}.ncu-rep.gz").read_bytes()))
    read = read_profiles(report).profiles
    kept_ = kept(name)
    assert [diagnose_launches([one]) for one in read] == [diagnose_launches([one]) for one in kept_]
