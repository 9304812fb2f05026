"""Medians with confidence intervals, outliers, and whether two measurements differ."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

# Two-sided 95% normal quantile.
_Z = 1.959963984540054
# Tukey's fence: samples beyond three interquartile ranges from the quartiles are far out.
_FAR = 3.0


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


def differ(one: Summary, other: Summary) -> bool:
    """Tell whether two medians differ beyond their intervals."""
    return one.high < other.low or other.high < one.low
