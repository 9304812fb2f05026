"""When a cure is kept by its effects."""

from __future__ import annotations

import pytest

from tailwave.cures.trials.deciding import can_gain, error_of_look, judge
from tailwave.model import Decision, Effect, Quantile


def median(change: float, low: float, high: float) -> Effect:
    """Return an effect on the median."""
    return Effect(Quantile.MEDIAN, 1.0, 1.0 + change, "", change, low, high)


def tail(change: float, low: float, high: float) -> Effect:
    """Return an effect on the 99th percentile."""
    return Effect(Quantile.TAIL, 1.0, 1.0 + change, "", change, low, high)


QUIET = (median(0.0, -0.005, 0.005), tail(0.0, -0.05, 0.05))
FLAT = median(0.0, -0.01, 0.01)


@pytest.mark.parametrize(
    ("effects", "decision"),
    [
        ((median(-0.10, -0.12, -0.08),), Decision.KEPT),
        ((median(-0.10, -0.21, 0.01),), Decision.NO_GAIN),  # the interval meets no change
        ((median(-0.015, -0.016, -0.014),), Decision.NO_GAIN),  # proven, and too little
        ((median(-0.10, -0.20, 0.0),), Decision.NO_GAIN),  # as does one that ends there
        ((median(0.10, 0.08, 0.12),), Decision.HARMFUL),
        ((median(0.10, 0.0, 0.20),), Decision.NO_GAIN),
        ((median(0.10, -0.01, 0.21),), Decision.NO_GAIN),
        ((median(0.015, 0.014, 0.016),), Decision.NO_GAIN),
        ((FLAT, tail(-0.30, -0.40, -0.20)), Decision.KEPT),  # less jitter
        ((FLAT, tail(-0.04, -0.045, -0.035)), Decision.NO_GAIN),  # the null's tail shows 5%
        ((FLAT, tail(0.30, 0.20, 0.40)), Decision.HARMFUL),
        ((median(-0.1, -0.12, -0.08), tail(0.3, 0.2, 0.4)), Decision.NO_GAIN),
        ((median(0.1, 0.08, 0.12), tail(-0.3, -0.4, -0.2)), Decision.NO_GAIN),
        ((median(-0.1, -0.12, -0.08), tail(-0.3, -0.4, -0.2)), Decision.KEPT),
    ],
)
def test_decisions(effects: tuple[Effect, ...], decision: Decision) -> None:
    """Kept and harmful need an interval on one side, and more than noise and 2%."""
    assert judge(effects, QUIET, higher_is_better=False).decision is decision


def test_more_is_better_turns_it_round() -> None:
    """Of a throughput, more is kept and less is harmful."""
    more, less = (median(0.10, 0.08, 0.12),), (median(-0.10, -0.12, -0.08),)
    assert judge(more, QUIET, higher_is_better=True).decision is Decision.KEPT
    assert judge(less, QUIET, higher_is_better=True).decision is Decision.HARMFUL


@pytest.mark.parametrize(
    ("change", "higher", "words"),
    [
        (-0.54, False, "It looks 54% better, but its runs differ too much"),
        (0.30, False, "It looks 30% worse, but its runs differ too much"),
        (0.25, True, "It looks 25% better, but its runs differ too much"),
        (-0.20, True, "It looks 20% worse, but its runs differ too much"),
        (-0.004, False, "No change that exceeds the noise and the 2% asked for"),
    ],
)
def test_what_looks_like_much_and_is_not_proven_is_said(
    change: float,
    higher: bool,  # noqa: FBT001
    words: str,
) -> None:
    """More rounds may prove it; that is something else than no change."""
    judged = judge((median(change, -0.9, 1.0),), QUIET, higher_is_better=higher)
    assert judged.decision is Decision.NO_GAIN
    assert judged.why.startswith(words)


def test_what_is_said_is_said_of_the_median() -> None:
    """Whichever effect comes first."""
    both = (tail(0.01, -0.5, 0.5), median(-0.54, -0.9, 1.0))
    judged = judge(both, QUIET, higher_is_better=False)
    assert judged.why.startswith("It looks 54% better")


def test_a_noisy_null_control_asks_for_more() -> None:
    """A gain of 10% is none where unchanged runs may differ by 15%."""
    noisy = (median(0.02, -0.11, 0.15),)
    judged = judge((median(-0.10, -0.12, -0.08),), noisy, higher_is_better=False)
    assert judged.decision is Decision.NO_GAIN
    assert judged.why == "No change beyond noise, which here hides all below 13.0%."  # 1 - 1 / 1.15


def test_without_a_null_control_nothing_is_kept() -> None:
    """What noise is must have been seen."""
    judged = judge((median(-0.10, -0.12, -0.08),), (), higher_is_better=False)
    assert judged.decision is Decision.NO_GAIN


def test_why_says_which_quantile() -> None:
    """The sentence names what is better, or what is at odds."""
    better = judge((median(-0.1, -0.12, -0.08),), QUIET, higher_is_better=False)
    assert better.why == "The median is better beyond noise."
    odds = judge((median(-0.1, -0.12, -0.08), tail(0.3, 0.2, 0.4)), QUIET, higher_is_better=False)
    turned = judge((tail(-0.3, -0.4, -0.2), FLAT), QUIET, higher_is_better=False)
    assert turned.why == "The 99th percentile is better beyond noise."
    assert odds.why == "The median is better, but the 99th percentile is worse."


def test_a_look_before_the_last_may_err_less() -> None:
    """Of six rounds the looks after 3, 4 and 5 share 2.5%; that after the last has as much."""
    assert [error_of_look(n, 6) for n in (3, 4, 5)] == [pytest.approx(0.025 / 3)] * 3
    assert error_of_look(6, 6) == 0.025
    assert error_of_look(3, 4) == error_of_look(4, 4) == 0.025
    assert error_of_look(3, 3) == 0.05


@pytest.mark.parametrize("rounds", [*range(3, 13), 100])
def test_all_looks_together_err_in_one_trial_of_twenty(rounds: int) -> None:
    """However many rounds there may be, a trial that ends after any of them holds for 95%."""
    looks = [error_of_look(completed, rounds) for completed in range(3, rounds + 1)]
    assert sum(looks) == pytest.approx(0.05)
    assert min(looks) > 0


def test_what_can_still_gain_stays_in_play() -> None:
    """An interval that reaches -2% may yet show a gain; so may that of the tail alone."""
    assert can_gain((median(0.0, -0.021, 0.021),), higher_is_better=False)
    assert can_gain((median(0.0, -0.02, 0.02),), higher_is_better=False)
    assert not can_gain((median(0.0, -0.019, 0.019),), higher_is_better=False)
    assert can_gain((FLAT, tail(0.0, -0.3, 0.3)), higher_is_better=False)
    assert can_gain((median(0.0, -0.01, 0.03),), higher_is_better=True)
    assert not can_gain((median(0.0, -0.03, 0.01),), higher_is_better=True)
