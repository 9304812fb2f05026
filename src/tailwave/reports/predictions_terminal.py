"""What-ifs for a person at a terminal: the most helpful first, and the best combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import percent, time
from tailwave.model import Prediction, Predictions
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
    page.paragraph(_now(predictions), lead="  now  ", lead_style="dim")
    if len(predictions.answers) == 1:
        _print_together(page, predictions.answers[0], "What if")
    else:
        _print_each(page, predictions.answers)
    if predictions.combined is not None and len(predictions.combined.names) > 1:
        _print_together(page, predictions.combined, "The best combination")
    page.items("Notes", predictions.notes)


def _headline(predictions: Predictions) -> str:
    best = predictions.combined or max(predictions.answers, key=lambda a: a.recoverable_us)
    now = predictions.step_us_now
    if best.recoverable_us >= _NO_CHANGE * now:
        return (
            f"{_name(best)} would bring the step from {time(now)} to {time(best.step_us_after)} "
            f"({percent(best.recoverable_us / now)} less)."
        )
    if len(predictions.answers) > 1:
        return f"None of these makes the step of {time(now)} faster by half a percent."
    return f"With {_name(best)} the step takes {time(best.step_us_after)}: {_effect(best)}."


def _now(predictions: Predictions) -> str:
    recorded, now = predictions.steps.median_us, predictions.step_us_now
    if recorded - now < _NO_CHANGE * recorded:
        return f"{time(now)} a step, as recorded"
    return (
        f"{time(now)} a step ({time(predictions.step_us_low)} to "
        f"{time(predictions.step_us_high)}), likely without the profiler; recorded {time(recorded)}"
    )


def _print_each(page: Page, answers: tuple[Prediction, ...]) -> None:
    """Print one line for each answer that changes something, and one for all the others."""
    page.heading("Each alone")
    changing = [answer for answer in answers if _changes(answer)]
    names = max((len(_name(answer)) for answer in changing), default=0)
    times = max((len(time(answer.step_us_after)) for answer in changing), default=0)
    for answer in changing:
        lead = f"  {_name(answer):{names}}  {time(answer.step_us_after):>{times}}  "
        page.paragraph(_effect(answer), lead=lead)
        for note in answer.notes:
            page.paragraph(note, lead=" " * len(lead), style="dim")
    same = [_name(answer) for answer in answers if not _changes(answer)]
    if same:
        page.paragraph(", ".join(same), lead="  no change: ", lead_style="dim", style="dim")


def _print_together(page: Page, prediction: Prediction, heading: str) -> None:
    page.heading(heading)
    page.paragraph(_name(prediction), lead="  ")
    before, after = time(prediction.step_us_now), time(prediction.step_us_after)
    page.paragraph(f"now {before} -> after {after} ({_effect(prediction)})", lead="    ")
    for note in prediction.notes:
        page.paragraph(note, lead="    ", style="dim")


def _name(prediction: Prediction) -> str:
    return " + ".join(prediction.names)


def _changes(prediction: Prediction) -> bool:
    return abs(prediction.recoverable_us) >= _NO_CHANGE * prediction.step_us_now


def _effect(prediction: Prediction) -> str:
    saved, now = prediction.recoverable_us, prediction.step_us_now
    if not _changes(prediction):
        return "no change"
    if saved > 0:
        return f"saves {time(saved)}, {percent(saved / now)}"
    return f"costs {time(-saved)}, {percent(-saved / now)}"
