"""Looks at a hand-made recording with one rule."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from tailwave.model import Finding, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.replay.forecast import forecast
from tailwave.recordings.timeline.prepare import prepare

_CASES = Path(__file__).parents[2] / "data" / "cases"


def recorded(name: str) -> list[Timeline]:
    """Read the ranks of a recording that others made."""
    return read([_CASES / name])


def find(rule: ModuleType, timeline: Timeline) -> Finding | None:
    """Return what the rule finds in a recording, of whose recorder's cost nothing is known."""
    case = prepare(replace(timeline, kind="by hand")).case
    found: Finding | None = rule.find(case, forecast(case))
    return found


def found(rule: ModuleType, timeline: Timeline) -> Finding:
    """Return what the rule finds in a recording in which it must find something."""
    finding = find(rule, timeline)
    assert finding is not None
    assert finding.code == rule.CODE
    return finding


def evidence(finding: Finding, what: str) -> float | None:
    """Return the figure of one piece of evidence."""
    (value,) = (piece.value for piece in finding.evidence if piece.what == what)
    return value
