"""What a rule found of a kernel, and how it is worded and weighed."""

from __future__ import annotations

import msgspec

from tailwave.figures import quantity
from tailwave.model import Evidence, Severity

# The same bounds as for findings of a recording, there of a step and here of a kernel. They only
# word the ranking, which is by share alone.
_SEVERITY = ((0.30, Severity.CRITICAL), (0.10, Severity.MAJOR), (0.03, Severity.MINOR))
WORTH_SAYING = 0.005  # of the kernel's time


class Cause(msgspec.Struct, frozen=True):
    """A cause of lost time; ``share`` is the part of the kernel's time that a cure brings back."""

    share: float
    claim: str
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[str, ...] = ()


def severity(share: float) -> Severity:
    """Word the share of a kernel's time that a cure brings back."""
    for bound, word in _SEVERITY:
        if share >= bound:
            return word
    return Severity.INFO


def ratio(what: str, value: float) -> Evidence:
    """A share as evidence."""
    return Evidence(what, value, "ratio")


def count(value: float, noun: str) -> str:
    """Word a count: "1 CTA", "1,320 CTAs"."""
    return f"{quantity(value, 'count')} {noun}{'' if value == 1 else 's'}"
