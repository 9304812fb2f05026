"""Figures are written in the unit that a person would choose."""

from __future__ import annotations

import math

import pytest

from tailwave.figures import counted, in_one_unit, percent, quantities, quantity, time


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        (0.0, "0 us"),
        (0.25, "0.250 us"),
        (5.6, "5.60 us"),
        (405.3, "405 us"),
        (999.4, "999 us"),
        (999.6, "1.00 ms"),
        (7561.0, "7.56 ms"),
        (25_713.8, "25.7 ms"),
        (999_600.0, "1.00 s"),
        (72_000_000.0, "72 s"),
    ],
)
def test_a_time(us: float, expected: str) -> None:
    """A time is in us below 1000, in ms below a second, in s above, to three digits."""
    assert time(us) == expected


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        ((3640.0, 455.0), ("3.64 ms", "0.455 ms")),
        ((471.0, 7561.0, -7090.0), ("0.471 ms", "7.56 ms", "-7.09 ms")),
        ((999.6, 12.0), ("1.00 ms", "0.012 ms")),
        ((72_000_000.0, 0.0), ("72 s", "0 s")),
        ((3_600_000.0, 455.0), ("3.60 s", "455 us")),
    ],
)
def test_the_times_of_one_sentence(us: tuple[float, ...], expected: tuple[str, ...]) -> None:
    """They are in the unit of the longest, unless one would have no digit left in it."""
    assert in_one_unit(*us) == expected


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.0, "0%"),
        (0.0004, "<0.1%"),
        (0.0536, "5.4%"),
        (0.0999, "10%"),
        (0.94, "94%"),
        (0.9999, ">99%"),
        (1.0, "100%"),
        (2.5, "250%"),
    ],
)
def test_a_ratio(ratio: float, expected: str) -> None:
    """A ratio is in percent; a trace of it is not written as nothing, nor most of it as all."""
    assert percent(ratio) == expected


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.245, "ms", "245 us"),
        (1500.0, "ns", "1.50 us"),
        (0.16, "ratio", "16%"),
        (4605.0, "count", "4,605"),
        (12.345, "", "12.3"),
        (528.0, "threads", "528 threads"),
        (3145728.0, "B", "3 MiB"),
        (12.5, "GB/s", "12.5 GB/s"),
        (math.nan, "us", "unknown"),
    ],
)
def test_a_quantity(value: float, unit: str, expected: str) -> None:
    """A figure of evidence is written in its own unit, scaled where that reads easier."""
    assert quantity(value, unit) == expected


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ((3500.0, 500.0), "us", ("3.50 ms", "0.500 ms")),
        ((4_000_000.0, 5.0), "us", ("4 s", "5 us")),
        ((219.0, 32.0), "ns", ("219 ns", "32 ns")),
        ((2200.0, 290.0), "ns", ("2.20 us", "0.290 us")),
        ((8.0, 16.0), "lanes", ("8 lanes", "16 lanes")),
        ((math.inf, 2.0), "us", ("unknown", "2 us")),
    ],
)
def test_the_values_of_one_sentence(
    values: tuple[float, ...], unit: str, expected: tuple[str, ...]
) -> None:
    """Times are in one unit, unless one of them would have no digit left in it."""
    assert quantities(*values, unit=unit) == expected


def test_a_count_with_its_noun() -> None:
    """One thing has no plural; many have separators."""
    counts = (0, 1, 1200)
    assert [counted(n, "figure") for n in counts] == ["0 figures", "1 figure", "1,200 figures"]
