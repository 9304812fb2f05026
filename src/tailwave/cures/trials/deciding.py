"""When a cure is kept: its effect beyond noise, whatever else was seen of it being in order.

A trial's candidates are judged together: with ``m`` intervals looked at, each has the confidence
1 - 0.05/m (Bonferroni), so that of a healthy program something is kept in at most 1 trial of 20,
however many cures are tried. Beyond that a change must be greater than what the null control
shows and than 2%: what two builds of one program differ by through memory placement alone is no
gain (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong", 2009).

A trial ends early once all is decided. Whoever looks after every round is wrong more often, so the
looks share the error: half of it is the last round's, the others have the other half between them
(alpha spending: Lan and DeMets, "Discrete sequential boundaries for clinical trials", 1983). The
sum over the looks holds whenever a trial ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from tailwave.cures.trials.effects import ERROR, Reach, cost
from tailwave.model import Decision, Effect, Quantile

LEAST_GAIN: Final = 0.02
LEAST_ROUNDS: Final = 3  # before anything is decided: two runs have hardly a spread
_LEAST: Final = -math.log1p(-LEAST_GAIN)
_NAMES: Final = {Quantile.MEDIAN: "the median", Quantile.TAIL: "the 99th percentile"}


class _Sign(Enum):
    BETTER = "better"
    SAME = "no different"
    WORSE = "worse"


class Judgement(NamedTuple):
    """A decision by the effects alone, and the sentence that says why."""

    decision: Decision
    why: str


def judge(
    effects: Sequence[Effect], null: Sequence[Effect], *, higher_is_better: bool
) -> Judgement:
    """Decide by the intervals of a candidate, on the median at least, and of the null control."""
    noise = {
        effect.quantile: _noise(cost(effect, higher_is_better=higher_is_better)) for effect in null
    }
    reaches = {
        effect.quantile: cost(effect, higher_is_better=higher_is_better) for effect in effects
    }
    signs = {
        quantile: _sign(reach, noise.get(quantile, math.inf)) for quantile, reach in reaches.items()
    }
    median = next(effect for effect in effects if effect.quantile is Quantile.MEDIAN)
    return _judged(signs) or _undecided(
        median.change, reaches[Quantile.MEDIAN].mean, noise.get(Quantile.MEDIAN, _LEAST)
    )


def error_of_look(completed: int, rounds: int) -> float:
    """Return the error that a trial may make by looking after so many of at most ``rounds``.

    The looks are those from LEAST_ROUNDS on, and their errors sum up to ERROR.
    """
    before_last = rounds - LEAST_ROUNDS
    if before_last <= 0:
        return ERROR
    return ERROR / 2 if completed >= rounds else ERROR / 2 / before_last


def can_gain(effects: Sequence[Effect], *, higher_is_better: bool) -> bool:
    """Tell whether any interval still reaches a gain worth having."""
    return any(cost(e, higher_is_better=higher_is_better).low <= -_LEAST for e in effects)


def _judged(signs: Mapping[Quantile, _Sign]) -> Judgement | None:
    """Decide where a quantile is better or worse; None where neither is."""
    median, tail = signs[Quantile.MEDIAN], signs.get(Quantile.TAIL, _Sign.SAME)
    if _Sign.BETTER in (median, tail) and _Sign.WORSE in (median, tail):
        better = Quantile.MEDIAN if median is _Sign.BETTER else Quantile.TAIL
        worse = Quantile.TAIL if median is _Sign.BETTER else Quantile.MEDIAN
        why = f"{_NAMES[better]} is better, but {_NAMES[worse]} is worse".capitalize()
        return Judgement(Decision.NO_GAIN, f"{why}.")
    for quantile, sign in signs.items():
        if sign is not _Sign.SAME:
            decision = Decision.KEPT if sign is _Sign.BETTER else Decision.HARMFUL
            return Judgement(
                decision, f"{_NAMES[quantile].capitalize()} is {sign.value} beyond noise."
            )
    return None


def _undecided(change: float, cost_change: float, noise: float) -> Judgement:
    """Say why nothing is proven, of a change of the median, its cost and the noise (logarithms)."""
    if abs(cost_change) > noise:
        looks = f"{abs(change):.0%} {'better' if cost_change < 0 else 'worse'}"
        why = f"It looks {looks}, but its runs differ too much to prove that: more --rounds may."
        return Judgement(Decision.NO_GAIN, why)
    bound = -math.expm1(-noise)
    why = f"No change beyond noise, which here hides all below {100 * bound:.1f}%."
    if bound <= LEAST_GAIN:
        why = f"No change that exceeds the noise and the {LEAST_GAIN:.0%} asked for."
    return Judgement(Decision.NO_GAIN, why)


def _noise(null: Reach) -> float:
    """Return the least change that counts: more than unchanged runs show, and than 2%."""
    return max(_LEAST, abs(null.low), abs(null.high))


def _sign(reach: Reach, noise: float) -> _Sign:
    if reach.high < 0 and reach.mean <= -noise:
        return _Sign.BETTER
    if reach.low > 0 and reach.mean >= noise:
        return _Sign.WORSE
    return _Sign.SAME
