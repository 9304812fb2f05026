"""A check: its measurements, what they are held against, and the verdicts."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.measurement import DeviceFacts, Measurement, Table
from tailwave.model.printable import Printable
from tailwave.model.values import TextOrUnknown


class Health(enum.StrEnum):
    """A verdict in the words of monitoring plug-ins."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


class Basis(enum.StrEnum):
    """What the bound of a criterion rests on."""

    ANY_GPU = "any-gpu"  # physics: it holds on whatever GPU
    REFERENCE = "reference"  # what GPUs of this model were measured at before


class Criterion(msgspec.Struct, frozen=True):
    """One figure held against one bound, and what came of it.

    Attributes:
        what: The figure, in words.
        basis: Whether the bound holds on any GPU or is this model's reference.
        health: Whether the figure keeps to the bound.
        value: The figure; null where there is none to judge.
        unit: Of the figure and its bounds.
        least: Healthy from here; null for no bound.
        most: Healthy up to here; null for no bound.
        reason: Why there is no value.
    """

    what: str
    basis: Basis
    health: Health
    value: float | None = None
    unit: str = ""
    least: float | None = None
    most: float | None = None
    reason: TextOrUnknown = ""


class Verdict(msgspec.Struct, frozen=True):
    """What one link of the scheduling chain's figures say.

    Attributes:
        link: launch, dispatch, issue, fabric, l2, copy or isolation.
        health: The worst of its criteria.
        claim: The key figures in words.
        meaning: What they mean for work on the GPU.
        criteria: What was held against which bound.
    """

    link: str
    health: Health
    claim: str
    meaning: str
    criteria: tuple[Criterion, ...] = ()


class Session(Printable, frozen=True):
    """One run of a command, whole: the saved format (JSON with a schema number).

    Attributes:
        schema: Of the saved format (``session.py``).
        tool_version: Of the tailwave that measured.
        command: That was run: check.
        started: ISO 8601, UTC.
        seconds: That it took.
        device: What was measured; None where there was none.
        measurements: Every figure, in the order in which they were taken.
        tables: Maps that are no single figure.
        verdicts: One a link.
        health: The verdict on the whole.
        reference: What the verdicts compared the device with, in words; "" for nothing.
        cut_short: The sentence that says why the run ended early; "" when it did not.
        notes: What else is to be known.
    """

    schema: int
    tool_version: str
    command: str
    started: str
    seconds: float
    device: DeviceFacts | None
    measurements: tuple[Measurement, ...] = ()
    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    health: Health = Health.UNKNOWN
    reference: str = ""
    cut_short: str = ""
    notes: tuple[str, ...] = ()
