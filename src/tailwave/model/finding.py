"""A cause of lost time, and what shows it."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.values import Part, TextOrUnknown, Us


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
        step_us_now: The step that it counts from, as the diagnosis'.
        step_us_after: The step with the cause cured; null where that cannot be computed.
        recoverable_us: The difference; null where there is none to be computed.
        share: The part of the step that a cure brings back; of a finding without a gain, the part
            that the cause takes.
        condition: On what the gain depends that the recording cannot tell; null where on nothing.
            A finding with a condition stands after those without.
        evidence: The figures that the claim rests on.
        cures: Names of cures, the first to be tried first.
    """

    code: str
    severity: Severity
    title: str
    claim: str
    step_us_now: Us
    step_us_after: Us | None
    recoverable_us: Us | None
    share: Part
    evidence: tuple[Evidence, ...] = ()
    cures: tuple[str, ...] = ()
    condition: TextOrUnknown = ""
