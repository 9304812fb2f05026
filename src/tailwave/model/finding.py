"""A cause of lost time, and what shows it."""

from __future__ import annotations

import enum

import msgspec


class Severity(enum.StrEnum):
    """How much a finding costs, from least to most."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Evidence(msgspec.Struct, frozen=True):
    """One figure or one observation behind a claim; ``value`` is None for a plain statement."""

    what: str
    value: float | None = None
    unit: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One cause of lost time: the claim, what it costs per step, and what cures it.

    Times are microseconds per step: ``step_us_now`` as things are, ``step_us_after`` with the
    cause cured, ``recoverable_us`` the difference.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    step_us_now: float
    step_us_after: float
    recoverable_us: float
    evidence: tuple[Evidence, ...] = ()
    cures: tuple[str, ...] = ()
