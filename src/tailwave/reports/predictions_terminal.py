"""What-ifs for a person at a terminal: the most helpful first, and the best combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.model import Prediction, Predictions
from tailwave.reports.figures import percent, time
from tailwave.reports.page import Page

if TYPE_CHECKING:
    from rich.console import Console

# A change of the step below this share is no change.
_NO_CHANGE = 0.005


def render_predictions(predictions: Predictions, console: Console) -> None:
    """Print what each what-if would bring."""
    page = Page(console)
    page.paragraph(_headline(predictions), style="bold")
    page.blank()
    page.paragraph(_now(predictions), lead="  now        ", lead_style="dim")
    page.blank()
    width = max(len(_name(answer)) for answer in predictions.answers)
    for answer in predictions.answers:
        _print_answer(page, answer, width)
    if predictions.combined is not None and len(predictions.combined.names) > 1:
        page.blank()
        page.paragraph("The best combination", style="bold underline")
        _print_answer(page, predictions.combined, len(_name(predictions.combined)))
    if predictions.notes:
        page.blank()
        page.paragraph("Notes", style="bold underline")
        for note in predictions.notes:
            page.paragraph(note, lead="  - ")


def _headline(predictions: Predictions) -> str:
    best = predictions.combined or max(predictions.answers, key=lambda a: a.recoverable_us)
    now = predictions.step_us_now
    if best.recoverable_us < _NO_CHANGE * now:
        if len(predictions.answers) == 1:
            return f"With {_name(best)} the step takes {time(best.step_us_after)}: {_effect(best)}."
        return f"None of these makes the step of {time(now)} faster by half a percent."
    return (
        f"{_name(best)} would bring the step from {time(now)} to {time(best.step_us_after)} "
        f"({percent(best.recoverable_us / now)} less)."
    )


def _now(predictions: Predictions) -> str:
    recorded, now = predictions.steps.median_us, predictions.step_us_now
    if recorded - now < _NO_CHANGE * recorded:
        return f"{time(now)} a step, as recorded"
    return (
        f"{time(now)} a step ({time(predictions.step_us_low)} to "
        f"{time(predictions.step_us_high)}), likely without the profiler; recorded {time(recorded)}"
    )


def _name(prediction: Prediction) -> str:
    return " + ".join(prediction.names)


def _effect(prediction: Prediction) -> str:
    saved, now = prediction.recoverable_us, prediction.step_us_now
    if abs(saved) < _NO_CHANGE * now:
        return "no change"
    if saved > 0:
        return f"saves {time(saved)}, {percent(saved / now)}"
    return f"costs {time(-saved)}, {percent(-saved / now)}"


def _print_answer(page: Page, prediction: Prediction, width: int) -> None:
    lead = f"  {_name(prediction):{width}}  "
    page.paragraph(
        f"{time(prediction.step_us_after):>8}  {_effect(prediction)}",
        lead=lead,
    )
    changed = abs(prediction.recoverable_us) >= _NO_CHANGE * prediction.step_us_now
    for note in prediction.notes if changed else ():
        page.paragraph(note, lead=" " * len(lead), style="dim")
