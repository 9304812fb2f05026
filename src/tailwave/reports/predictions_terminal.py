"""What-ifs for a person at a terminal: the most helpful first, and the best combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.figures import in_one_unit, percent, time
from tailwave.model import Prediction, Predictions
from tailwave.reports.page import Page
from tailwave.reports.step_time import step_time

if TYPE_CHECKING:
    from rich.console import Console

# A change of the step below this share is no change.
_NO_CHANGE = 0.005


def render_predictions(predictions: Predictions, console: Console) -> None:
    """Print what each what-if would bring."""
    page = Page(console)
    page.paragraph(_headline(predictions), style="bold")
    page.blank()
    page.paragraph(step_time(predictions.now), lead="  now  ", lead_style="dim")
    if len(predictions.what_ifs) == 1:
        _print_together(page, predictions.what_ifs[0], "What if")
    else:
        _print_each(page, predictions.what_ifs)
    if predictions.combined is not None and len(predictions.combined.names) > 1:
        _print_together(page, predictions.combined, "The best combination")
    page.items("Notes", predictions.notes)
    page.next_command(predictions.next)


def _headline(predictions: Predictions) -> str:
    best = predictions.combined or predictions.what_ifs[0]
    now = predictions.now.us
    if best.recoverable_us >= _NO_CHANGE * now:
        before, after = in_one_unit(now, best.step_us_after)
        condition = f", {best.condition}" if best.condition else ""
        return (
            f"{_name(best)} would bring the step from {before} to {after} "
            f"({percent(best.recoverable_us / now)} less){condition}."
        )
    if len(predictions.what_ifs) > 1:
        return f"None of these makes the step of {time(now)} faster by half a percent."
    after, change = in_one_unit(best.step_us_after, best.recoverable_us)
    return f"With {_name(best)} the step takes {after}: {_effect(best, change)}."


def _print_each(page: Page, answers: tuple[Prediction, ...]) -> None:
    """Print one line for each answer that changes something, and one for all the others."""
    page.heading("Each alone")
    changing = [answer for answer in answers if _changes(answer)]
    names = max((len(_name(answer)) for answer in changing), default=0)
    for answer in changing:
        after, change = in_one_unit(answer.step_us_after, answer.recoverable_us)
        lead = f"  {_name(answer):{names}}  {after:>8}  "
        page.paragraph(_effect(answer, change), lead=lead)
        for note in _remarks(answer):
            page.paragraph(note, lead=" " * len(lead), style="dim")
    same = [_name(answer) for answer in answers if not _changes(answer)]
    if same:
        page.paragraph(", ".join(same), lead="  no change: ", lead_style="dim", style="dim")


def _print_together(page: Page, prediction: Prediction, heading: str) -> None:
    page.heading(heading)
    page.paragraph(_name(prediction), lead="  ")
    now, after, change = in_one_unit(
        prediction.step_us_now, prediction.step_us_after, prediction.recoverable_us
    )
    page.paragraph(f"now {now} -> after {after} ({_effect(prediction, change)})", lead="    ")
    for note in _remarks(prediction):
        page.paragraph(note, lead="    ", style="dim")


def _name(prediction: Prediction) -> str:
    return " + ".join(prediction.names)


def _remarks(prediction: Prediction) -> tuple[str, ...]:
    """What a prediction rests on: its condition first."""
    return (*filter(None, (prediction.condition,)), *prediction.notes)


def _changes(prediction: Prediction) -> bool:
    return abs(prediction.recoverable_us) >= _NO_CHANGE * prediction.step_us_now


def _effect(prediction: Prediction, change: str) -> str:
    """Word what the changes bring: ``change`` is the time that they save."""
    if not _changes(prediction):
        return "no change"
    part = percent(abs(prediction.recoverable_us) / prediction.step_us_now)
    verb = "saves" if prediction.recoverable_us > 0 else "costs"
    return f"{verb} {change.removeprefix('-')}, {part}"
