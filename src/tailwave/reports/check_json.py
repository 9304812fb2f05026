"""A check for a program: one JSON document, described by ``check.schema.json``.

What is not known is null, never 0 and never NaN. Samples and tables are left to the saved session.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from tailwave import __version__
from tailwave.model import Criterion, DeviceFacts, Measurement, Session, Verdict
from tailwave.reports.check_headline import headline
from tailwave.reports.subject import is_simulated

SCHEMA: Final = 1


def check_to_json(session: Session) -> bytes:
    """Return a check as an indented JSON document in UTF-8."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "tailwave", "version": __version__},
        "summary": headline(session),
        "health": session.health,
        "simulated": is_simulated(session),
        "started": session.started,
        "seconds": session.seconds,
        "device": _device(session.device) if session.device else None,
        "reference": session.reference or None,
        "cut_short": session.cut_short or None,
        "verdicts": [_verdict(verdict) for verdict in session.verdicts],
        "figures": [_figure(measurement) for measurement in session.measurements],
        "notes": list(session.notes),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _device(device: DeviceFacts) -> dict[str, Any]:
    return {
        "name": device.name,
        "backend": device.backend,
        "uuid": device.uuid or None,
        "sm_count": device.sm_count or None,
        "driver": device.driver or None,
        "runtime": device.runtime or None,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "link": verdict.link,
        "health": verdict.health,
        "claim": verdict.claim,
        "meaning": verdict.meaning,
        "criteria": [_criterion(criterion) for criterion in verdict.criteria],
    }


def _criterion(criterion: Criterion) -> dict[str, Any]:
    return {
        "what": criterion.what,
        "basis": criterion.basis,
        "health": criterion.health,
        "value": number(criterion.value),
        "unit": criterion.unit,
        "least": number(criterion.least),
        "most": number(criterion.most),
        "reason": criterion.reason or None,
    }


def _figure(measurement: Measurement) -> dict[str, Any]:
    return {
        "name": measurement.name,
        "parameters": measurement.parameters,
        "status": measurement.status,
        "unit": measurement.unit,
        "value": number(measurement.value),
        "low": number(measurement.low),
        "high": number(measurement.high),
        "samples": len(measurement.samples),
        "outliers": measurement.outliers,
        "clock_mhz": number(measurement.clock_mhz),
        "headline": measurement.headline,
        "simulated": measurement.simulated,
        "reason": measurement.reason or None,
    }


def number(value: float | None) -> float | None:
    """Return a figure, or None where there is none or it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
