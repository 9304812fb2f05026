"""A check: its measurements, what they are held against, and the verdicts."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.measurement import DeviceFacts, Measurement, Table


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

    The figure is healthy from ``least`` to ``most``, both in ``unit``; None is no bound on that
    side. ``value`` is None, and ``reason`` says why, where there is no figure to judge.
    """

    what: str
    basis: Basis
    health: Health
    value: float | None = None
    unit: str = ""
    least: float | None = None
    most: float | None = None
    reason: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """What one link of the scheduling chain's figures say, and what that means for work on it."""

    link: str  # "launch", "dispatch", "issue", "fabric", "l2", "copy", "isolation"
    health: Health
    claim: str
    meaning: str
    criteria: tuple[Criterion, ...] = ()


class Session(msgspec.Struct, frozen=True):
    """One run of a command, whole: the saved format (JSON with a schema number).

    ``health`` is the verdict on the whole. ``reference`` says in words what the verdicts compared
    the device with, "" for nothing; ``cut_short`` is the sentence that says why the run ended
    early, "" when it did not.
    """

    schema: int
    tool_version: str
    command: str
    started: str  # ISO 8601, UTC
    seconds: float
    device: DeviceFacts | None
    measurements: tuple[Measurement, ...] = ()
    tables: tuple[Table, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    health: Health = Health.UNKNOWN
    reference: str = ""
    cut_short: str = ""
    notes: tuple[str, ...] = ()
