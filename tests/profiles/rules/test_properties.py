"""What holds of every profile, whichever counters it has and whatever they say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tailwave.model import Counter, KernelProfile
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.base import KernelRule
from tailwave.profiles.rules.diagnose import diagnose_launches
from tests.profiles.rules.profiles import kept

PLANTED = kept("planted_faults")
NAMES = sorted({name for profile in PLANTED for name in profile.counters})
REASONS = sorted({reason for profile in PLANTED for reason in profile.stalls})
CODES = {rule.CODE for rule in KERNEL_RULES}
FIGURES = st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32)
SIZES = st.integers(min_value=0, max_value=1 << 20)

# Some rules do with another counter; what is lost with them is tested beside each rule.
_STAND_INS = ("dram__throughput.avg.pct_of_peak_sustained_elapsed",)

launches = st.sampled_from(PLANTED)
missing = st.sets(st.sampled_from(NAMES))
changed = st.dictionaries(st.sampled_from(NAMES), FIGURES)
stalls = st.dictionaries(st.sampled_from(REASONS), FIGURES)
shapes = st.none() | st.tuples(SIZES, SIZES, SIZES)


def altered(
    profile: KernelProfile, lost: set[str], values: dict[str, float | None]
) -> KernelProfile:
    """Take some counters from a profile, and put others in."""
    counters = {name: one for name, one in profile.counters.items() if name not in lost}
    return replace(
        profile, counters=counters | {name: Counter(value) for name, value in values.items()}
    )


@settings(deadline=None)
@given(launches, missing, changed, stalls, shapes, shapes)
def test_no_profile_is_a_fault_of_ours(  # noqa: PLR0913 - each is a part of a profile
    launch: KernelProfile,
    lost: set[str],
    values: dict[str, float | None],
    waits: dict[str, float | None],
    grid: tuple[int, int, int] | None,
    block: tuple[int, int, int] | None,
) -> None:
    """Nothing is raised, gains lie between 0 and 1, and each question is answered or open."""
    profile = replace(
        altered(launch, lost, values),
        stalls={reason: Counter(share, "ratio") for reason, share in waits.items()},
        grid=grid,
        block=block,
    )
    diagnosis = diagnose_launches([profile])
    assert all(0 < finding.share <= 1 for finding in diagnosis.findings)
    open_questions = {one.code for one in diagnosis.unanswered}
    assert not open_questions & {f.code for f in diagnosis.findings if f.by == "tailwave"}
    assert open_questions >= {f.code for f in diagnosis.findings if f.by == "ncu"}
    assert open_questions <= CODES
    assert all(one.metrics for one in diagnosis.unanswered)


@settings(deadline=None, max_examples=30)
@given(launches, st.dictionaries(st.text(min_size=1).map("other__{}".format), FIGURES))
def test_counters_that_no_rule_knows_change_nothing(
    launch: KernelProfile, others: dict[str, float | None]
) -> None:
    """A report may hold thousands more."""
    assert diagnose_launches([altered(launch, set(), others)]) == diagnose_launches([launch])


@settings(deadline=None)
@given(launches, missing)
def test_what_is_missing_never_makes_a_finding_of_nothing(
    launch: KernelProfile, lost: set[str]
) -> None:
    """With fewer counters a healthy kernel stays healthy, or its questions are open."""
    whole = {finding.code for finding in diagnose_launches([launch]).findings}
    for finding in diagnose_launches([altered(launch, lost, {})]).findings:
        if finding.severity in ("major", "critical"):
            assert finding.code in whole


@pytest.mark.parametrize("rule", KERNEL_RULES, ids=lambda rule: rule.CODE)
def test_the_counters_that_a_rule_asks_for_suffice(rule: KernelRule) -> None:
    """What `tailwave metrics --for CODE` records answers the question, on every planted kernel.

    Of a device nothing is known but by its counters, as in a page of CSV. Some counters that may be
    recorded are not in the reports of ``--set full``.
    """
    wanted = set(rule.METRICS)
    for launch in PLANTED:
        counters = {name: launch.counters.get(name, Counter(1.0)) for name in wanted}
        reasons = {
            reason: share for reason, share in launch.stalls.items() if share.source in wanted
        }
        alone = replace(launch, counters=counters, stalls=reasons, device=None)
        assert rule.CODE not in {one.code for one in diagnose_launches([alone]).unanswered}


@pytest.mark.parametrize(
    ("rule", "name"),
    [(rule, name) for rule in KERNEL_RULES for name in rule.NEEDED],
    ids=lambda one: one if isinstance(one, str) else one.CODE,
)
def test_without_what_is_needed_the_question_stays_open(rule: KernelRule, name: str) -> None:
    """Of some kernel at least; what is needed is recorded."""
    assert name in rule.METRICS
    parts = [altered(launch, {name, *_STAND_INS}, {}) for launch in PLANTED]
    left_open = [one.code for part in parts for one in diagnose_launches([part]).unanswered]
    assert rule.CODE in left_open
