"""Medians and means with confidence intervals, and outliers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import msgspec
import numpy as np

# Two-sided 95% normal quantile.
_Z = 1.959963984540054
# Tukey's fence: samples beyond three interquartile ranges from the quartiles are far out.
_FAR = 3.0
# How finely a quantile is told, as a share of it.
_BISECTED = 1e-12


class Summary(msgspec.Struct, frozen=True):
    """The median of samples, its 95% confidence interval, and how many samples are far out."""

    median: float
    low: float
    high: float
    count: int
    outliers: int

    @property
    def relative_spread(self) -> float:
        """Half the interval over the median; infinite for a median of 0 with an interval."""
        half = (self.high - self.low) / 2
        if half == 0:
            return 0.0
        return half / abs(self.median) if self.median else float("inf")


def summarise(samples: Sequence[float]) -> Summary:
    """Summarise samples; raises ValueError when there is none or one is not finite.

    The interval is distribution-free: order statistics around the median, by the binomial
    distribution (normal approximation; for fewer than six samples it is their whole range).
    """
    values = np.sort(np.asarray(samples, dtype=np.float64))
    if len(values) == 0 or not np.isfinite(values).all():
        message = "samples must be finite, and at least one"
        raise ValueError(message)
    count = len(values)
    half = _Z * np.sqrt(count) / 2
    low = max(int(np.floor(count / 2 - half)), 0)
    high = min(int(np.ceil(count / 2 + half)), count - 1)
    lower, upper = np.percentile(values, [25, 75])
    reach = _FAR * (upper - lower)
    outliers = int(((values < lower - reach) | (values > upper + reach)).sum()) if reach > 0 else 0
    return Summary(
        float(np.median(values)), float(values[low]), float(values[high]), count, outliers
    )


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Fit ``y = a + b x`` by least squares: returns ``a``, ``b`` and R squared."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    b, a = np.polyfit(xs, ys, 1)
    total = float(((ys - ys.mean()) ** 2).sum())
    residual = float(((ys - a - b * xs) ** 2).sum())
    return float(a), float(b), 1.0 - residual / total if total else 1.0


class Interval(msgspec.Struct, frozen=True):
    """A mean and the confidence interval around it, at the level that was asked for."""

    mean: float
    low: float
    high: float


@cache
def student_quantile(confidence: float, degrees: int) -> float:
    """Return t for which Student's distribution lies in -t..t with the confidence given.

    The distribution of a whole number of degrees of freedom is a finite sum (Abramowitz and
    Stegun, 26.7.3 and 26.7.4); it is inverted by bisection. Raises ValueError unless the confidence
    lies between 0 and 1 and there is a degree of freedom.
    """
    if not 0 < confidence < 1 or degrees < 1:
        raise ValueError(f"no quantile of {degrees} degrees of freedom at {confidence}")
    low, high = 0.0, 1.0
    while _student_within(high, degrees) < confidence:
        high *= 2
    while high - low > _BISECTED * high:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _student_within(middle, degrees) < confidence else (low, middle)
        )
    return high


def _student_within(t: float, degrees: int) -> float:
    """Return the probability of -t..t."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(2 + odd, degrees + 1, 2):
        total += term
        term *= cosine**2 * (power - 1) / power
    return (angle + sine * total) * 2 / math.pi if odd else sine * total


def mean_interval(samples: Sequence[float], confidence: float) -> Interval:
    """Return the mean of at least two samples and its confidence interval by Student's t."""
    values = np.asarray(samples, dtype=np.float64)
    if len(values) < 2 or not np.isfinite(values).all():  # noqa: PLR2004  (one has no spread)
        raise ValueError("samples must be finite, and at least two")
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student_quantile(confidence, len(values) - 1) * error
    return Interval(mean, mean - half, mean + half)


def prediction_interval(samples: Sequence[float], confidence: float) -> Interval:
    """Return where one more sample lies with the confidence given (normal, spread unknown)."""
    around = mean_interval(samples, confidence)
    half = (around.high - around.mean) * math.sqrt(len(samples) + 1)
    return Interval(around.mean, around.mean - half, around.mean + half)
