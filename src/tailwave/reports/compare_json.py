"""A comparison for a program: one JSON document, described by ``compare.schema.json``."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tailwave import __version__
from tailwave.model import Comparison, Difference, Measurement, Session
from tailwave.reports.check_json import number

SCHEMA: Final = 1


def comparison_to_json(comparison: Comparison) -> bytes:
    """Return a comparison as an indented JSON document, the worst difference first."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "tailwave", "version": __version__},
        "before": _session(comparison.before),
        "after": _session(comparison.after),
        "differences": [_difference(difference) for difference in comparison.differences],
        "small": [_difference(difference) for difference in comparison.small],
        "alike": comparison.alike,
        "missing": list(comparison.missing),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _session(session: Session) -> dict[str, Any]:
    device = session.device
    return {
        "device": device.name if device else None,
        "simulated": device.simulated if device else None,
        "started": session.started,
        "tool_version": session.tool_version,
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.before.name,
        "parameters": difference.before.parameters,
        "what": difference.what,
        "unit": difference.before.unit,
        "before": _figure(difference.before),
        "after": _figure(difference.after),
        "change": number(difference.change),
        "worse": difference.worse,
        "decides": difference.decides,
    }


def _figure(measurement: Measurement) -> dict[str, float | None]:
    low, high = measurement.interval
    return {"value": number(measurement.value), "low": number(low), "high": number(high)}
