"""Means with intervals by Student's t."""

from __future__ import annotations

import math

import pytest

from tailwave.stats import mean_interval, prediction_interval, student_quantile


@pytest.mark.parametrize(
    ("confidence", "degrees", "t"),  # from printed tables
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 5, 2.571),
        (0.95, 30, 2.042),
        (0.99, 4, 4.604),
        (0.998, 2, 22.327),
        (0.998, 10, 4.144),
        (0.999, 100, 3.390),
        (0.5, 3, 0.765),
    ],
)
def test_students_quantiles_are_those_of_the_tables(
    confidence: float, degrees: int, t: float
) -> None:
    """For odd and even degrees of freedom."""
    assert round(student_quantile(confidence, degrees), 3) == t


@pytest.mark.parametrize(("confidence", "degrees"), [(0.0, 5), (1.0, 5), (1.5, 5), (0.95, 0)])
def test_what_has_no_quantile(confidence: float, degrees: int) -> None:
    """Certainty has no finite quantile, and one sample no freedom."""
    with pytest.raises(ValueError, match="no quantile"):
        student_quantile(confidence, degrees)


def test_the_interval_of_a_mean() -> None:
    """1, 2, 3: the mean is 2, its error 1 / sqrt(3), and t of two degrees 4.3027."""
    interval = mean_interval([1, 2, 3], 0.95)
    half = 4.302652729911275 / math.sqrt(3)
    assert interval.mean == 2
    assert interval.low == pytest.approx(2 - half)
    assert interval.high == pytest.approx(2 + half)


def test_where_one_more_would_lie() -> None:
    """1, 2, 3: a fourth lies within t sqrt(1 + 1/3) of the mean."""
    interval = prediction_interval([1, 2, 3], 0.95)
    half = 4.302652729911275 * math.sqrt(4 / 3)
    assert interval.low == pytest.approx(2 - half)
    assert interval.high == pytest.approx(2 + half)


@pytest.mark.parametrize("samples", [[], [1.0], [1.0, math.nan], [1.0, math.inf]])
def test_what_has_no_interval(samples: list[float]) -> None:
    """One sample has no spread, and what is no number no mean."""
    with pytest.raises(ValueError, match="at least two"):
        mean_interval(samples, 0.95)
