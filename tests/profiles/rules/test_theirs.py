"""What ncu's own rules are believed, where counters are missing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.model import KernelDiagnosis, RuleKind, RuleResult, Severity
from tailwave.profiles.rules.diagnose import diagnose_launches
from tests.profiles.rules.profiles import made

LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active"


def told(
    name: str,
    speedup: float | None,
    counters: dict[str, float | None] | None = None,
    scope: str = "global",
    kind: RuleKind = RuleKind.OPTIMIZATION,
) -> KernelDiagnosis:
    """Diagnose a kernel without stalls, of which one of ncu's rules has an estimate (percent)."""
    rule = RuleResult(name, kind, "", speedup=speedup, scope=scope)
    return diagnose_launches([replace(made(counters), rules=(rule,))])


def test_an_estimate_is_reported_as_ncu_s() -> None:
    """It says whose it is, and the question stays open: tailwave's own figure is not known."""
    diagnosis = told("ThreadDivergence", 40.0, {LANES: 8.0})
    [finding] = diagnosis.findings
    assert (finding.code, finding.by, finding.share) == ("divergence", "ncu", 0.4)
    assert finding.severity is Severity.CRITICAL
    assert finding.claim == (
        "ncu estimates that diverging threads cost 40% of the kernel; tailwave's own figure needs "
        "counters that are not here."
    )
    assert finding.cures == ("sort-work", "warp-per-item")
    assert finding.theirs == ()
    assert "divergence" in {one.code for one in diagnosis.unanswered}


def test_an_estimate_is_not_believed_beyond_the_counters() -> None:
    """Of 32 lanes 24 work: no more than a quarter is lost, whatever ncu estimates."""
    [finding] = told("ThreadDivergence", 40.0, {LANES: 24.0}).findings
    assert finding.share == 0.25
    assert "cost 40% of the kernel, and other counters allow 25%; tailwave's" in finding.claim


def test_shared_accesses_on_ncu_s_word() -> None:
    """In a page whose rule does not print the wavefronts."""
    [finding] = told("UncoalescedSharedAccess", 97.0, {L1: 99.0}).findings
    assert (finding.code, finding.by, finding.share) == ("bank-conflict", "ncu", 0.97)
    assert finding.claim.startswith("ncu estimates that uncoalesced shared accesses cost 97% of")
    assert finding.cures == ("pad-shared", "swizzle")


def test_too_few_warps_on_ncu_s_word() -> None:
    """No more than is missing, with a cure of what limits them."""
    few: dict[str, float | None] = {
        "sm__maximum_warps_per_active_cycle_pct": 50.0,
        "launch__occupancy_limit_registers": 4.0,
    }
    [finding] = told("TheoreticalOccupancy", 60.0, few).findings
    assert (finding.code, finding.by, finding.share) == ("low-occupancy", "ncu", 0.5)
    assert finding.cures == ("fewer-registers", "more-ilp")


@pytest.mark.parametrize(
    "name",
    [
        *("LaunchConfiguration", "AchievedOccupancy", "CPIStall", "WorkloadImbalance"),
        *("UncoalescedGlobalAccess", "IssueSlotUtilization", "FPInstructions"),
    ],
)
def test_rules_that_mislead_are_not_believed(name: str) -> None:
    """However much they estimate."""
    assert told(name, 90.0, {LANES: 8.0, L1: 99.0}).findings == ()


def test_an_estimate_of_a_unit_is_not_believed() -> None:
    """It says nothing of the kernel."""
    assert told("ThreadDivergence", 40.0, {LANES: 8.0}, scope="local").findings == ()


def test_a_rule_without_an_estimate_is_not_believed() -> None:
    """Nor one that is no advice."""
    assert told("ThreadDivergence", None, {LANES: 8.0}).findings == ()
    assert told("ThreadDivergence", 40.0, {LANES: 8.0}, kind=RuleKind.NOTE).findings == ()


@pytest.mark.parametrize(("lanes", "is_open"), [(31.05, False), (31.03, True)])
def test_what_cannot_cost_3_percent_is_answered(lanes: float, *, is_open: bool) -> None:
    """Lanes that are idle for 2.97% and for 3.03%: below minor no other counter is needed."""
    diagnosis = told("ThreadDivergence", 40.0, {LANES: lanes})
    assert ("divergence" in {one.code for one in diagnosis.unanswered}) is is_open
    assert bool(diagnosis.findings) is is_open
    assert bool(diagnosis.disputed) is not is_open
