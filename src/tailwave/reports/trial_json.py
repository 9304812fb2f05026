"""A trial for a program: one JSON document, described by ``trial.schema.json``."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tailwave import __version__
from tailwave.model import Baseline, Diagnosis, Effect, Outcome, Restored, Trial
from tailwave.reports.check_json import number
from tailwave.reports.json_report import to_json

SCHEMA: Final = 1


def trial_to_json(trial: Trial) -> bytes:
    """Return a trial as an indented JSON document, the kept cures first."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "tailwave", "version": __version__},
        "command": [_utf8(word) for word in trial.command],
        "started": trial.started,
        "seconds": number(trial.seconds),
        "gpu": trial.gpu or None,
        "driver": trial.driver or None,
        "metric": _metric(trial),
        "rounds": trial.rounds,
        "baseline": _baseline(trial.baseline) if trial.baseline else None,
        "null": [_effect(effect) for effect in trial.null],
        "restored": _restored(trial.restored) if trial.restored else None,
        "outcomes": [_outcome(outcome) for outcome in trial.outcomes],
        "diagnosis": _diagnosis(trial.diagnosis) if trial.diagnosis else None,
        "cut_short": trial.cut_short or None,
        "notes": list(trial.notes),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _metric(trial: Trial) -> dict[str, Any] | None:
    if not trial.metric:
        return None
    return {
        "what": trial.metric,
        "unit": trial.unit or None,
        "higher_is_better": trial.higher_is_better,
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    return {
        "median": number(baseline.median),
        "tail": number(baseline.tail),
        "samples": baseline.samples,
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "quantile": effect.quantile,
        "before": number(effect.before),
        "after": number(effect.after),
        "change": number(effect.change),
        "low": number(effect.low),
        "high": number(effect.high),
    }


def _restored(restored: Restored) -> dict[str, Any]:
    return {
        "median": number(restored.value),
        "low": number(restored.low),
        "high": number(restored.high),
        "agrees": restored.agrees,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "cure": outcome.cure,
        "label": outcome.label,
        "decision": outcome.decision,
        "why": _utf8(outcome.why),
        "rounds": outcome.rounds,
        "effects": [_effect(effect) for effect in outcome.effects],
        "bound": number(outcome.bound),
        "mechanism": {"seen": outcome.seen, "detail": outcome.mechanism or None},
        "outputs": {"match": outcome.outputs, "detail": outcome.outputs_detail or None},
        "lines": list(outcome.lines),
    }


def _diagnosis(diagnosis: Diagnosis) -> msgspec.Raw:
    return msgspec.Raw(to_json(diagnosis))


def _utf8(text: str) -> str:
    """Return a text that came from the command line or the program as JSON can hold it."""
    return text.encode(errors="replace").decode()
