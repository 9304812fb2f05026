"""How much a change changed, with an interval."""

from __future__ import annotations

import math

import pytest

from tailwave.cures.trials.effects import agreement, cost, effects
from tailwave.cures.trials.metric import Figures
from tailwave.model import Effect, Quantile


def rounds(*medians: float, tail: float | None = None) -> dict[int, Figures]:
    """Return an arm's figures, one a round."""
    return {
        number: Figures(median, median * tail if tail else None, 100)
        for number, median in enumerate(medians)
    }


def test_a_halved_time() -> None:
    """Rounds that all halve it show a change of -0.5 without any doubt."""
    (effect,) = effects(rounds(10, 20, 40), rounds(5, 10, 20), "us", 0.95)
    assert (effect.quantile, effect.unit) == (Quantile.MEDIAN, "us")
    assert effect.before == pytest.approx(20)
    assert effect.after == pytest.approx(10)
    assert effect.change == pytest.approx(-0.5)
    assert effect.low == pytest.approx(-0.5)
    assert effect.high == pytest.approx(-0.5)


def test_the_interval_is_students_on_logarithms() -> None:
    """Ratios e^0.0, e^0.1, e^0.2: their mean is 0.1, their error 0.1 / sqrt(3), t is 4.3027."""
    after = [10 * math.exp(x) for x in (0.0, 0.1, 0.2)]
    (effect,) = effects(rounds(10, 10, 10), rounds(*after), "us", 0.95)
    half = 4.302652729911275 * 0.1 / math.sqrt(3)
    assert effect.change == pytest.approx(math.expm1(0.1))
    assert effect.low == pytest.approx(math.expm1(0.1 - half))
    assert effect.high == pytest.approx(math.expm1(0.1 + half))


def test_drift_cancels_in_the_rounds() -> None:
    """A machine that gets slower from round to round leaves the ratios as they are."""
    (effect,) = effects(rounds(10, 15, 30), rounds(9, 13.5, 27), "us", 0.95)
    assert effect.high == pytest.approx(-0.1)


def test_only_rounds_that_both_have_are_compared() -> None:
    """An arm that was dropped has fewer."""
    (effect,) = effects(
        rounds(10, 10, 10), {0: Figures(5, None, 1), 7: Figures(1, None, 1)}, "", 0.9
    )
    assert effect.change == pytest.approx(-0.5)
    assert (effect.low, effect.high) == (None, None)
    assert effects(rounds(10), {}, "", 0.95) == ()


def test_the_tail_where_all_rounds_have_it() -> None:
    """The 99th percentile is compared as the median is, unless a run had too few samples."""
    both = effects(rounds(10, 10, tail=2.0), rounds(10, 10, tail=1.0), "us", 0.95)
    assert [(e.quantile, round(e.change, 6)) for e in both] == [
        (Quantile.MEDIAN, 0.0),
        (Quantile.TAIL, -0.5),
    ]
    assert len(effects(rounds(10, 10, tail=2.0), rounds(10, 10), "us", 0.95)) == 1


def effect(change: float, low: float | None, high: float | None) -> Effect:
    """Return an effect on the median."""
    return Effect(Quantile.MEDIAN, 1.0, 1.0 + change, "", change, low, high)


def test_less_time_costs_less_and_less_speed_costs_more() -> None:
    """The cost is a logarithm; where more is better its sign turns, and its ends change places."""
    time = cost(effect(-0.5, -0.75, 0.0), higher_is_better=False)
    assert time == pytest.approx((math.log(0.5), math.log(0.25), 0.0))
    speed = cost(effect(-0.5, -0.75, 0.0), higher_is_better=True)
    assert speed == pytest.approx((math.log(2), 0.0, math.log(4)))


def test_one_round_may_mean_anything() -> None:
    """Without an interval the cost has no ends."""
    assert cost(effect(-0.5, None, None), higher_is_better=False)[1:] == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("again", "agrees"), [(100.0, True), (101.9, True), (98.1, True), (102.1, False), (97.9, False)]
)
def test_a_steady_program_agrees_within_two_percent(again: float, agrees: bool) -> None:  # noqa: FBT001
    """Runs without any scatter leave 2% to the last one."""
    assert agreement(rounds(100, 100, 100), again).agrees is agrees


def test_a_scattered_program_agrees_where_one_more_run_would_lie() -> None:
    """Of ln 100 with a deviation of 0.1 in three runs, t at 99% is 9.925: half of 1.146."""
    logs = (math.log(100) + d for d in (-0.1, 0.0, 0.1))
    held = agreement(rounds(*map(math.exp, logs)), 250.0)
    half = 9.924843200918 * 0.1 * math.sqrt(1 + 1 / 3)
    assert held.high == pytest.approx(100 * math.exp(half))
    assert held.low == pytest.approx(100 * math.exp(-half))
    assert held.agrees


@pytest.mark.parametrize("far", [1e-300, 1e300])
def test_what_is_as_far_apart_as_floats_can_be_is_still_a_ratio(far: float) -> None:
    """Numbers that a program prints may be anything."""
    (effect,) = effects(rounds(1 / far, 1 / far, 1 / far), rounds(far, far, far), "", 0.95)
    reach = cost(effect, higher_is_better=False)
    assert reach.mean == pytest.approx(math.copysign(30, far - 1), rel=1e-4)
    assert reach.low == reach.high == reach.mean


def test_a_tail_that_one_round_lacks_is_none() -> None:
    """A quantile is compared over all rounds, or not at all."""
    before = {**rounds(10, 10, tail=2.0), 2: Figures(10.0, None, 20)}
    assert [e.quantile for e in effects(before, before, "us", 0.95)] == [Quantile.MEDIAN]


def test_two_rounds_have_an_interval() -> None:
    """Wide as it is: t of one degree of freedom is 12.7 at 95%."""
    (effect,) = effects(rounds(10, 10), rounds(10, 11), "us", 0.95)
    half = 12.706204736 * math.log(1.1) / 2
    assert effect.low == pytest.approx(math.expm1(math.log(1.1) / 2 - half))
    assert agreement(rounds(100, 110), 150.0).agrees
