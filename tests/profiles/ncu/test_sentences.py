"""Figures out of the sentences of ncu's rules."""

from __future__ import annotations

import pytest

from tailwave.model import Counter, RuleKind, RuleResult
from tailwave.profiles.ncu.sentences import title_of, told

STALL = "On average, each warp of this workload spends 16.3 cycles being stalled {} and so on. "
PART = "This stall type represents about 68.4% of the total average of 23.8 cycles between"
UNEVEN = (
    "One or more {} have a much higher number of active cycles than the average number of active "
    "cycles. Maximum instance value is {}% above the average, while"
)
SCATTERED = (
    "This kernel has uncoalesced {} accesses resulting in a total of 300 excessive sectors (75% of "
    "the total 400 sectors). Check"
)
# 2 of 10 SMs' worth of 1,000 cycles: the average SM worked 400, the busiest 800.
HALF = {
    "sm__cycles_active.avg": Counter(400.0, "cycle"),
    "sm__cycles_elapsed.sum": Counter(10_000.0, "cycle"),
    "launch__sm_count": Counter(10.0, "SM"),
}


def rule(name: str, message: str, speedup: float | None = None) -> RuleResult:
    """Make a rule's result as the details page's reader does."""
    return RuleResult(
        name, RuleKind.OPTIMIZATION, message, title_of(name, message), speedup=speedup
    )


@pytest.mark.parametrize(
    ("name", "message", "title"),
    [
        ("CPIStall", STALL.format("waiting for sibling warps at a CTA barrier"), "Barrier Stalls"),
        ("CPIStall", STALL.format("for something that is new"), ""),
        ("LaunchConfiguration", "1 full waves and a partial wave of 264 thread", "Tail Effect"),
        ("LaunchConfiguration", "launch is configured to execute only 8 blocks", "Small Grid"),
        ("LaunchConfiguration", "in other words", ""),
        ("WorkloadImbalance", UNEVEN.format("L1 Slices", "9"), "L1 Slices Workload Imbalance"),
        ("WorkloadImbalance", "in other words", ""),
        ("SOLBottleneck", "waiting for sibling warps at a CTA barrier", ""),
    ],
)
def test_titles(name: str, message: str, title: str) -> None:
    """As the report gives them; none where the words do not tell."""
    assert title_of(name, message) == title


@pytest.mark.parametrize("words", [PART, PART.replace("This stall type", "This")])
def test_a_stall_s_part(words: str) -> None:
    """As newer and as older versions word it."""
    message = STALL.format("waiting for sibling warps at a CTA barrier") + words
    assert told([rule("CPIStall", message)], {}) == {
        "smsp__warp_issue_stalled_barrier_per_warp_active.pct": Counter(
            68.4, "%", source="CPIStall"
        )
    }


@pytest.mark.parametrize(
    ("what", "name", "unit"),
    [
        ("global", "memory_l2_theoretical_sectors_global", "sector"),
        ("shared", "memory_l1_wavefronts_shared", ""),
    ],
)
def test_excess(what: str, name: str, unit: str) -> None:
    """The total, and what is left of it without the excess."""
    assert told([rule("Scattered", SCATTERED.format(what))], {}) == {
        name: Counter(400.0, unit, source="Scattered"),
        f"{name}_ideal": Counter(100.0, unit, source="Scattered"),
    }


def test_the_busiest_sm() -> None:
    """Half below the busiest, for two fifths of the time: an estimate of 20%."""
    imbalance = rule("WorkloadImbalance", UNEVEN.format("SMs", "50.00"), 20.0)
    assert told([imbalance], HALF) == {
        "sm__cycles_active.max": Counter(800.0, "cycle", source="WorkloadImbalance")
    }


@pytest.mark.parametrize(
    ("units", "above", "speedup", "without"),
    [
        ("SMs", "50.00", 19.5, ""),  # the two figures are of different meaning
        ("SMs", "100.00", 40.0, ""),  # as another version might count, of the mean
        ("SMs", "50.00", None, ""),
        ("SMSPs", "50.00", 20.0, ""),
        ("SMs", "50.00", 20.0, "sm__cycles_active.avg"),
        ("SMs", "50.00", 20.0, "sm__cycles_elapsed.sum"),
    ],
)
def test_the_busiest_sm_is_not_guessed(
    units: str, above: str, speedup: float | None, without: str
) -> None:
    """Where the sentence and the estimate do not agree, or one is missing, it stays unknown."""
    counters = {name: counter for name, counter in HALF.items() if name != without}
    imbalance = rule("WorkloadImbalance", UNEVEN.format(units, above), speedup)
    assert told([imbalance], counters) == {}


def test_other_words_tell_nothing() -> None:
    """A rule that is new, or worded anew."""
    messages = ("It has 300 excessive sectors.", STALL.format("for what is new") + PART, "")
    assert told([rule("CPIStall", message) for message in messages], HALF) == {}


@pytest.mark.parametrize("number", ["6.8.4", ".", "168.4", "9999"])
def test_a_damaged_percentage_tells_nothing(number: str) -> None:
    """What is no number, or no part of a whole."""
    stall = STALL.format("waiting for sibling warps at a CTA barrier") + PART.replace(
        "68.4", number
    )
    uneven = UNEVEN.format("SMs", number)
    rules = [rule("CPIStall", stall), rule("WorkloadImbalance", uneven, 20.0)]
    assert told(rules, HALF) == {}


@pytest.mark.parametrize(
    ("excess", "part", "total", "is_told"),
    [
        ("300", "75", "400", True),
        ("2026", "0", "463365", True),  # 0.4%
        ("5", "12", "40", True),  # 12.5%, of which the half may go either way
        ("5", "13", "40", True),
        ("300", "75", "4000", False),  # a digit too many
        ("500", "125", "400", False),
        ("300", "75", "0", False),
        ("1" * 400, "75", "400", False),
    ],
)
def test_figures_of_excess_must_agree(excess: str, part: str, total: str, *, is_told: bool) -> None:
    """Each sentence has three of them, so that a damaged one shows."""
    message = SCATTERED.format("global").replace("300", excess)
    message = message.replace("75%", f"{part}%").replace("400 sectors", f"{total} sectors")
    assert bool(told([rule("UncoalescedGlobalAccess", message)], {})) is is_told


@pytest.mark.parametrize(
    ("name", "sms", "is_told"),
    [
        ("LaunchConfiguration", "108", True),
        ("LaunchConfiguration", "0", False),
        ("Others", "108", False),
    ],
)
def test_sms_that_a_small_grid_is_compared_with(name: str, sms: str, *, is_told: bool) -> None:
    """Older pages say nowhere else how many there are."""
    message = (
        "The grid for this launch is configured to execute only 1 blocks, which is less than the "
        f"GPU's {sms} multiprocessors. This"
    )
    counter = Counter(108.0, "SM", source="LaunchConfiguration")
    assert told([rule(name, message)], {}) == ({"launch__sm_count": counter} if is_told else {})


@pytest.mark.parametrize(
    ("words", "lanes"),
    [
        (
            "31.8 threads being active per cycle. This is further reduced to 21.2 threads",
            [31.8, 21.2],
        ),
        ("8.0 threads being active per cycle.", [8.0]),
        ("48.0 threads being active per cycle.", []),
        ("0.0 threads being active per cycle.", []),
        ("3.1.8 threads being active per cycle.", []),
    ],
)
def test_active_lanes(words: str, lanes: list[float]) -> None:
    """Most of the estimate may be of what predicates mask, which the sentence tells apart."""
    message = f"This workload achieves an average of {words} per warp due to predication."
    names = (
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    )
    assert told([rule("ThreadDivergence", message)], {}) == {
        name: Counter(value, source="ThreadDivergence")
        for name, value in zip(names, lanes, strict=False)
    }
    assert told([rule("Other", message)], {}) == {}
