"""Figures as shades of a character, which need no colour: the darker, the more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tailwave.figures import quantity

_BLOCKS = "░▒▓█"
_ASCII = ".:*#"
NOT_MEASURED = "?"


class Shades:
    """Four equal steps from the least to the greatest of some figures."""

    def __init__(self, values: Sequence[float], unit: str, *, ascii_only: bool) -> None:
        """Take the range of the figures, at least one."""
        self._low, self._high = min(values), max(values)
        self._unit = unit
        self._characters = _ASCII if ascii_only else _BLOCKS

    def of(self, value: float | None) -> str:
        """Return the character for a figure."""
        if value is None or value != value:  # noqa: PLR0124 - NaN is the one that differs
            return NOT_MEASURED
        steps = len(self._characters)
        share = (value - self._low) / (self._high - self._low) if self._high > self._low else 0
        return self._characters[min(int(share * steps), steps - 1)]

    def legend(self) -> str:
        """Say which figures each character stands for."""
        step = (self._high - self._low) / len(self._characters)
        edges = [
            quantity(self._low + step * number, "") for number in range(len(self._characters) + 1)
        ]
        parts = [
            f"{character} {low} to {high}"
            for character, (low, high) in zip(self._characters, pairwise(edges), strict=True)
        ]
        return f"{'  '.join(parts)} {self._unit}"
