"""A profiled kernel's diagnosis for a program: one entry of ``kernels`` in a diagnosis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tailwave.model import Evidence, KernelDiagnosis, KernelFinding

_DECIMALS = 6  # of a figure: shares are small


def kernel_document(kernel: KernelDiagnosis) -> dict[str, Any]:
    """Return a kernel's diagnosis as it stands in the document."""
    place = kernel.in_trace
    return {
        "name": kernel.name.encode(errors="replace").decode(),
        "launches": kernel.launches,
        "grid": list(kernel.grid) if kernel.grid else None,
        "block": list(kernel.block) if kernel.block else None,
        "duration_us": _number(kernel.duration_us),
        "bound": kernel.bound,
        "findings": [_finding(finding) for finding in kernel.findings],
        "figures": _evidence(kernel.figures),
        "stalls": _evidence(kernel.stalls),
        "unanswered": [
            {"code": one.code, "question": one.question, "metrics": list(one.metrics)}
            for one in kernel.unanswered
        ],
        "absent": list(kernel.absent),
        "disputed": list(kernel.disputed),
        "in_trace": None
        if place is None
        else {
            "calls": place.calls,
            "step_us": _number(place.step_us),
            "step_share": _number(place.step_share),
            "matched_by": place.matched_by,
        },
    }


def _finding(finding: KernelFinding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "title": finding.title,
        "claim": finding.claim,
        "share": _number(finding.share),
        "evidence": _evidence(finding.evidence),
        "metrics": list(finding.metrics),
        "cures": list(finding.cures),
        "theirs": list(finding.theirs),
        "by": finding.by,
    }


def _evidence(all_: Iterable[Evidence]) -> list[dict[str, Any]]:
    return [{"what": e.what, "value": _number(e.value), "unit": e.unit} for e in all_]


def _number(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), _DECIMALS)
