"""How much a change changed: ratios of runs of the same round, with an interval.

The runs of a round follow each other closely, so what drifts over a trial (heat, a neighbour)
cancels in their ratio. The interval is Student's t on the logarithms of the rounds' ratios: the
ratio of two times is what is asked for, its logarithm is symmetric, and whole runs are the
independent samples, never the steps inside them (Kalibera and Jones, "Quantifying performance
changes with effect size confidence intervals", arXiv 2007.10899). A distribution-free interval
of six rounds could not be corrected for several candidates: its smallest error is 1 in 32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tailwave.cures.trials.metric import Figures
from tailwave.model import Effect, Quantile, Restored
from tailwave.stats import mean_interval, prediction_interval

# The chance that any of a trial's intervals misses what it is around.
ERROR = 0.05
# e to this power is beyond any ratio of two times, and far below what a float can hold.
_FAR = 30.0
_AGREEMENT = 0.99
_LEAST_DRIFT = math.log(1.02)


class Reach(NamedTuple):
    """From where to where a change in cost may lie, as a logarithm: below 0 is better."""

    mean: float
    low: float
    high: float


def effects(
    before: Mapping[int, Figures], after: Mapping[int, Figures], unit: str, confidence: float
) -> tuple[Effect, ...]:
    """Compare two arms over the rounds that both have, by each quantile that all of them have."""
    rounds = [number for number in after if number in before]
    if not rounds:
        return ()
    pairs = [(before[number], after[number]) for number in rounds]
    found = [_effect(Quantile.MEDIAN, [(b.median, a.median) for b, a in pairs], unit, confidence)]
    tails = [(b.tail, a.tail) for b, a in pairs if b.tail is not None and a.tail is not None]
    if len(tails) == len(pairs):
        found.append(_effect(Quantile.TAIL, tails, unit, confidence))
    return tuple(found)


def cost(effect: Effect, *, higher_is_better: bool) -> Reach:
    """Return how much dearer a change made the program, without end where nobody knows."""
    sign = -1.0 if higher_is_better else 1.0
    mean = sign * math.log1p(effect.change)
    if effect.low is None or effect.high is None:
        return Reach(mean, -math.inf, math.inf)
    ends = sorted(
        (sign * math.log1p(effect.low), sign * math.log1p(effect.high)),
    )
    return Reach(mean, ends[0], ends[1])


def _effect(
    quantile: Quantile, pairs: Sequence[tuple[float, float]], unit: str, confidence: float
) -> Effect:
    logs = [math.log(after) - math.log(before) for before, after in pairs]
    interval = mean_interval(logs, confidence) if len(logs) > 1 else None
    return Effect(
        quantile=quantile,
        before=_geometric_mean([before for before, _ in pairs]),
        after=_geometric_mean([after for _, after in pairs]),
        unit=unit,
        change=_change(sum(logs) / len(logs)),
        low=_change(interval.low) if interval else None,
        high=_change(interval.high) if interval else None,
    )


def _change(log_ratio: float) -> float:
    """Return a ratio less 1; an end so far out that it is no number is cut."""
    return math.expm1(max(-_FAR, min(_FAR, log_ratio)))


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def agreement(before: Mapping[int, Figures], again: float) -> Restored:
    """Hold a last run of the program as it is against those of the rounds.

    It agrees where one more of them would lie with 99% (a prediction interval on the logarithms),
    and anywhere within 2%, since of runs that hardly differ that interval has no width.
    """
    logs = [math.log(figures.median) for figures in before.values()]
    mean = sum(logs) / len(logs)
    half = _LEAST_DRIFT
    if len(logs) > 1:
        half = max(half, prediction_interval(logs, _AGREEMENT).high - mean)
    low, high = (math.exp(mean + side * min(half, _FAR)) for side in (-1, 1))
    return Restored(median=again, low=low, high=high, agrees=low <= again <= high)
