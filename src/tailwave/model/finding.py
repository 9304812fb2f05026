"""A cause of lost time, and what shows it."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.values import Us


class Severity(enum.StrEnum):
    """How much a finding costs, from least to most."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Evidence(msgspec.Struct, frozen=True):
    """One figure or one observation behind a claim.

    Attributes:
        what: What it is a figure of, in words.
        value: Null for a plain statement, and where it could not be worked out.
        unit: Of the value: ``us``, ``ratio``, ``count`` ...
    """

    what: str
    value: float | None = None
    unit: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One cause of lost time: the claim, what it costs per step, and what cures it.

    Attributes:
        code: Its name: ``tailwave explain CODE`` says what it means.
        severity: By the share of a step that a cure brings back.
        title: What is wrong, in general.
        claim: What is wrong here, with its figures.
        step_us_now: The likely step without the profiler.
        step_us_after: The step with the cause cured.
        recoverable_us: The difference.
        evidence: The figures that the claim rests on.
        cures: Names of cures, the first to be tried first.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    step_us_now: Us
    step_us_after: Us
    recoverable_us: Us
    evidence: tuple[Evidence, ...] = ()
    cures: tuple[str, ...] = ()
