"""What a rule found of a kernel, and how it is worded and weighed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tailwave.figures import quantity
from tailwave.model import Evidence
from tailwave.profiles.rules.view import MissingCounterError

WORTH_SAYING = 0.005  # of the kernel's time


class Cause(msgspec.Struct, frozen=True):
    """A cause of lost time; ``share`` is the part of the kernel's time that a cure brings back."""

    share: float
    claim: str
    evidence: tuple[Evidence, ...] = ()
    cures: tuple[str, ...] = ()


def least(*bounds: Callable[[], float]) -> float:
    """Return the least of those bounds that can be told; MissingCounterError if none can."""
    told: list[float] = []
    missing: list[MissingCounterError] = []
    for bound in bounds:
        try:
            told.append(bound())
        except MissingCounterError as error:
            missing.append(error)
    if not told:
        raise missing[0]
    return min(told)


def ratio(what: str, value: float) -> Evidence:
    """A share as evidence."""
    return Evidence(what, value, "ratio")


def count(value: float, noun: str) -> str:
    """Word a count: "1 CTA", "1,320 CTAs"."""
    return f"{quantity(value, 'count')} {noun}{'' if value == 1 else 's'}"
