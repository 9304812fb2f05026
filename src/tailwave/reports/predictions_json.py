"""What-ifs for a program: one JSON document, schema 1. What is not known is null."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tailwave import __version__
from tailwave.model import Prediction, Predictions

SCHEMA: Final = 1
_DECIMALS = 3  # of a microsecond


def predictions_to_json(predictions: Predictions) -> bytes:
    """Return the predictions as an indented JSON document in UTF-8."""
    device, steps = predictions.device, predictions.steps
    document = {
        "schema": SCHEMA,
        "tool": {"name": "tailwave", "version": __version__},
        "source": {
            "path": predictions.source.path.encode(errors="replace").decode(),
            "kind": predictions.source.kind,
            "events": predictions.source.events,
            "ranks": list(predictions.source.ranks),
        },
        "device": {"name": device.name or None, "sm_count": device.sm_count or None}
        if device
        else None,
        "steps": {
            "count": steps.count,
            "by": steps.by,
            "median_us": _time(steps.median_us),
            "gpu_busy_us": _time(steps.gpu_busy_us),
        },
        "step_us_now": _time(predictions.step_us_now),
        "step_us_range": [_time(predictions.step_us_low), _time(predictions.step_us_high)],
        "what_ifs": [_prediction(answer) for answer in predictions.answers],
        "combined": _prediction(predictions.combined) if predictions.combined else None,
        "notes": list(predictions.notes),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "names": list(prediction.names),
        "question": prediction.question,
        "step_us_now": _time(prediction.step_us_now),
        "step_us_after": _time(prediction.step_us_after),
        "recoverable_us": _time(prediction.recoverable_us),
        "notes": list(prediction.notes),
    }


def _time(us: float) -> float:
    return round(float(us), _DECIMALS)
