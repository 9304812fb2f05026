"""Figures as people read them: a time in us or ms, a ratio in percent, a count with separators."""

from __future__ import annotations

import math

_US_PER_UNIT = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_TIME_UNITS = ("us", "ms", "s")
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_NS_BELOW = 999.5  # what is measured in ns stays there until it is a whole microsecond
_LEAST_IN_UNIT = 0.01  # of a unit that a time is written in only because others are
_DIGITS = 3  # as many as a timing is good for
_LEAST_PERCENT, _MOST_PERCENT = 0.1, 99.0
_ONE_DECIMAL_BELOW = 9.95


def time(us: float) -> str:
    """Return a time given in microseconds: in us below 1000 of them, then in ms, then in s."""
    return _scaled(us, 1000, _TIME_UNITS)


def in_one_unit(*us: float) -> tuple[str, ...]:
    """Return the times (us) of one sentence in one unit, that of the longest: 3.64 ms, 0.455 ms.

    Where one would have no digit left in it, each is in its own unit.
    """
    unit = time(max(us, key=abs)).rpartition(" ")[2]
    scaled = [one / _US_PER_UNIT[unit] for one in us]
    if any(0 < abs(one) < _LEAST_IN_UNIT for one in scaled):
        return tuple(map(time, us))
    return tuple(f"{_rounded(one)} {unit}" for one in scaled)


def percent(ratio: float) -> str:
    """Return a ratio in percent; a small part is never written as 0, nor a large one as 100."""
    value = 100 * ratio
    if 0 < value < _LEAST_PERCENT:
        return f"<{_LEAST_PERCENT}%"
    if _MOST_PERCENT < value < 100:  # noqa: PLR2004  (all of it)
        return f">{_MOST_PERCENT:.0f}%"
    decimals = 1 if 0 < abs(value) < _ONE_DECIMAL_BELOW else 0
    return f"{value:,.{decimals}f}%"


def quantity(value: float, unit: str) -> str:
    """Return a measured value in its own unit, or "unknown" where it is not a number."""
    if not math.isfinite(value):
        return "unknown"
    if unit == "ns" and abs(value) < _NS_BELOW:
        return f"{_rounded(value)} ns"
    if unit in _US_PER_UNIT:
        return time(value * _US_PER_UNIT[unit])
    if unit == "ratio":
        return percent(value)
    if unit == "B":
        return _scaled(value, 1024, _BYTE_UNITS)
    return f"{_rounded(value)} {'' if unit == 'count' else unit}".rstrip()


def quantities(*values: float, unit: str) -> tuple[str, ...]:
    """Return the values of one sentence, times in one unit: 0.500 ms and 3.50 ms."""
    us = [value * _US_PER_UNIT.get(unit, math.nan) for value in values]
    if not all(map(math.isfinite, us)) or (unit == "ns" and max(map(abs, values)) < _NS_BELOW):
        return tuple(quantity(value, unit) for value in values)
    return in_one_unit(*us)


def counted(count: float, noun: str) -> str:
    """Return a count with its noun: "1 figure", "2 figures"."""
    return f"{quantity(count, 'count')} {noun}{'' if count == 1 else 's'}"


def _scaled(value: float, factor: int, units: tuple[str, ...]) -> str:
    """Return the value in the largest of the units that leaves at least one of it."""
    for unit in units[:-1]:
        if abs(value) < factor - 0.5:  # what would be written as a full 1000 moves on
            return f"{_rounded(value)} {unit}"
        value /= factor
    return f"{_rounded(value)} {units[-1]}"


def _rounded(value: float) -> str:
    """Return the value to a few digits; whole numbers and all before the point stay complete."""
    if value == int(value):
        return f"{value:,.0f}"
    size = abs(float(f"{value:.{_DIGITS}g}"))  # rounded first: 0.9999 has a digit before the point
    before_point = len(str(int(size))) if size >= 1 else 0
    return f"{value:,.{max(0, _DIGITS - before_point)}f}"
