"""A diagnosis for a program: one JSON document, described by ``diagnosis.schema.json``.

What is not known is null, never 0 and never NaN.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from tailwave import __version__
from tailwave.model import DeviceInfo, Diagnosis, Finding, Source, StepsSummary
from tailwave.reports.kernels_json import kernel_document

SCHEMA: Final = 1
_DECIMALS = 3  # of a microsecond: a trace's own clock counts nanoseconds


def to_json(diagnosis: Diagnosis) -> bytes:
    """Return the diagnosis as an indented JSON document in UTF-8."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "tailwave", "version": __version__},
        "source": _source(diagnosis.source),
        "device": _device(diagnosis.device) if diagnosis.device else None,
        "steps": _steps(diagnosis.steps) if diagnosis.steps else None,
        "division": [
            {"what": share.what, "label": share.label, "us": _time(share.us)}
            for share in diagnosis.division
        ],
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "kernels": [kernel_document(kernel) for kernel in diagnosis.kernels],
        "withheld": list(diagnosis.withheld),
        "notes": list(diagnosis.notes),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _source(source: Source) -> dict[str, Any]:
    return {
        # A file's name need not be UTF-8, but JSON is.
        "path": source.path.encode(errors="replace").decode(),
        "kind": source.kind,
        "events": source.events,
        "ranks": list(source.ranks),
    }


def _device(device: DeviceInfo) -> dict[str, Any]:
    return {"name": device.name or None, "sm_count": device.sm_count or None}


def _steps(steps: StepsSummary) -> dict[str, Any]:
    return {
        "count": steps.count,
        "by": steps.by,
        "median_us": _time(steps.median_us),
        "gpu_busy_us": _time(steps.gpu_busy_us),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "title": finding.title,
        "claim": finding.claim,
        "step_us_now": _time(finding.step_us_now),
        "step_us_after": _time(finding.step_us_after),
        "recoverable_us": _time(finding.recoverable_us),
        "evidence": [
            {"what": e.what, "value": _figure(e.value), "unit": e.unit} for e in finding.evidence
        ],
        "cures": list(finding.cures),
    }


def _time(us: float) -> float:
    """Return a time rounded; every diagnosis has its times, so one that is no number is a bug."""
    if not math.isfinite(us):
        raise ValueError(f"a time of a diagnosis is {us}")
    return round(float(us), _DECIMALS)


def _figure(value: float | None) -> float | None:
    """Return a figure rounded, or None where there is none or it could not be worked out."""
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), _DECIMALS)
