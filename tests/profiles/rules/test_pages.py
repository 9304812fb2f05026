"""Pages that ncu exported: what is found from them is what is found from the report."""

from __future__ import annotations

import pytest

from tailwave.model import KernelDiagnosis, KernelProfiles, Severity
from tailwave.profiles.rules.diagnose import diagnose_launches, diagnose_profiles
from tests.profiles.ncu.real_pages import only, page, profiles
from tests.profiles.rules.profiles import kept
from tests.profiles.rules.test_reports import FAULTY, HEALTHY, NAMES, TRUTH

DETAILS = "planted_faults.details"
NUMBERS = range(len(NAMES))
RAW = [(name, "planted_faults") for name in ("planted_faults.raw", "planted_faults.raw.base")]
RAW += [("article_tests.raw", "article_tests")]
# What a details page holds of the planted causes: grids, and what ncu estimates.
IN_DETAILS = (0, 4, 8, 13)
SEVERE = {Severity.MAJOR, Severity.CRITICAL}


def diagnosed(text: str) -> list[KernelDiagnosis]:
    """Diagnose each launch of a page."""
    return [diagnose_launches([profile]) for profile in profiles(text)]


def found(diagnosis: KernelDiagnosis) -> list[tuple[str, str]]:
    """Return what was found, the costliest first."""
    return [(finding.code, finding.severity.value) for finding in diagnosis.findings]


@pytest.mark.parametrize(("name", "report"), RAW, ids=[name for name, _ in RAW])
def test_a_raw_page_says_what_the_report_says(name: str, report: str) -> None:
    """The same causes in the same order, as severe; shares within the rounding of the page."""
    whole = [diagnose_launches([profile]) for profile in kept(report)]
    for read, wanted in zip(diagnosed(page(name)), whole, strict=True):
        assert found(read) == found(wanted)
        assert [finding.share for finding in read.findings] == pytest.approx(
            [finding.share for finding in wanted.findings], abs=0.0005
        )
        assert (read.unanswered, len(read.absent)) == ((), len(wanted.absent))


@pytest.mark.parametrize("name", [name for name, report in RAW if report == "planted_faults"])
def test_from_a_raw_page_planted_causes_come_first(name: str) -> None:
    """Of all eleven; and healthy kernels have nothing above info."""
    kernels = diagnosed(page(name))
    assert {number: kernels[number].findings[0].code for number in FAULTY} == {
        number: TRUTH[number] for number in FAULTY
    }
    for number in HEALTHY:
        assert {finding.severity for finding in kernels[number].findings} <= {Severity.INFO}


def test_the_articles_kernels_exercise_nothing() -> None:
    """Neither bank conflicts nor the fabric, as their raw page shows."""
    files = [KernelProfiles(profiles(page("article_tests.raw")), "ncu-csv raw", "x.csv")]
    note = diagnose_profiles(files, "x.csv").notes[-1]
    assert note.startswith("No kernel here exercises ")
    assert "shared-memory bank conflicts" in note
    assert "the L2's fabric" in note


def test_what_a_details_page_says() -> None:
    """Of each launch: the causes, whose figure it is, and the share in percent."""
    kernels = diagnosed(page(DETAILS))
    found = [[(f.code, f.by, round(100 * f.share)) for f in one.findings] for one in kernels]
    assert {number: findings for number, findings in enumerate(found) if findings} == {
        0: [("bank-conflict", "ncu", 97)],
        4: [("small-grid", "tailwave", 92)],
        8: [("divergence", "ncu", 70)],
        13: [("low-occupancy", "ncu", 60)],
    }


@pytest.mark.parametrize("number", FAULTY, ids=[NAMES[number] for number in FAULTY])
def test_a_details_page_finds_what_it_counts(number: int) -> None:
    """Four planted causes of eleven come first; the question of each other is left open."""
    diagnosis = diagnosed(page(DETAILS))[number]
    if number in IN_DETAILS:
        assert diagnosis.findings[0].code == TRUTH[number]
        assert diagnosis.findings[0].severity in SEVERE
    else:
        assert TRUTH[number] in {one.code for one in diagnosis.unanswered}


@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_a_details_page_accuses_of_nothing_else(number: int) -> None:
    """What costs 10% or more by this page is found from the whole report as well."""
    whole = {code for code, _ in found(diagnose_launches([kept("planted_faults")[number]]))}
    severe = {f.code for f in diagnosed(page(DETAILS))[number].findings if f.severity in SEVERE}
    assert severe <= whole


PARTS = sorted({profile_rule.section for p in profiles(page(DETAILS)) for profile_rule in p.rules})
SECTIONS = (
    *("GPU Speed Of Light Throughput", "Compute Workload Analysis", "Memory Workload Analysis"),
    *("Scheduler Statistics", "Warp State Statistics", "Instruction Statistics"),
    *("Launch Statistics", "Occupancy", "GPU and Memory Workload Distribution", "Source Counters"),
    *PARTS,
)


@pytest.mark.parametrize("section", SECTIONS)
def test_without_a_section_nothing_is_made_up(section: str) -> None:
    """A page of fewer sections: healthy kernels stay healthy, and no other is accused anew."""
    part = only(page(DETAILS), lambda row: row["Section Name"] != section)
    whole = [diagnose_launches([profile]) for profile in kept("planted_faults")]
    for number, (read, wanted) in enumerate(zip(diagnosed(part), whole, strict=True)):
        severe = {finding.code for finding in read.findings if finding.severity in SEVERE}
        assert severe <= {finding.code for finding in wanted.findings}, number
        if number in HEALTHY:
            assert {finding.severity for finding in read.findings} <= {Severity.INFO}, number


def test_a_details_page_says_how_to_get_the_rest() -> None:
    """The last note, where a question is open; a raw page that answers all has none."""
    kinds = {"planted_faults.details": "ncu-csv details", "planted_faults.raw": "ncu-csv raw"}
    notes = {
        kind: diagnose_profiles([KernelProfiles(profiles(page(name)), kind, "x.csv")], "x").notes
        for name, kind in kinds.items()
    }
    assert "ncu --import REPORT --csv --page raw" in notes["ncu-csv details"][-1]
    assert notes["ncu-csv raw"] == ()
