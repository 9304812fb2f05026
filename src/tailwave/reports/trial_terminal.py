"""A trial for a person at a terminal: what to do, then what was tried and what was seen.

Colour only repeats what the words say, so the report reads the same in a file.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tailwave.figures import quantities, time
from tailwave.model import (
    Decision,
    Effect,
    Outcome,
    OutputMatch,
    Outputs,
    Quantile,
    Restored,
    Trial,
)
from tailwave.reports.page import Cell, Page
from tailwave.reports.subject import moment

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = " " * 4
_STYLES = {
    Decision.KEPT: "bold green",
    Decision.NO_GAIN: "",
    Decision.HARMFUL: "bold red",
    Decision.NOT_APPLICABLE: "dim",
}
_SMALL = 0.0995  # a change below this has a decimal
_US_PER_S = 1e6
# A number without a unit is written with a power of ten where its digits would be lost or endless.
_PLAIN, _LONG = 0.1, 1e9


def render_trial(trial: Trial, console: Console) -> None:
    """Print the whole report of one trial."""
    page = Page(console)
    kept = [outcome for outcome in trial.outcomes if outcome.decision is Decision.KEPT]
    for outcome in kept:
        page.paragraph(f"{_kept(outcome, trial)}; add:", style="bold")
        for line in outcome.lines:
            page.paragraph(line, lead=_INDENT, style="green")
    for paragraph in _conclusions(trial, kept):
        page.paragraph(paragraph, style="bold")
    _print_subject(page, trial)
    _print_noise(page, trial)
    _print_table(page, trial.outcomes)
    _print_details(page, trial.outcomes)
    page.items("Notes", trial.notes)
    page.next_command(_next(trial))


def _conclusions(trial: Trial, kept: list[Outcome]) -> list[str]:
    """Return what there is to take away besides what is kept."""
    found = []
    if len(kept) > 1:
        found.append("Each was tried alone: their gains do not add up.")
    if trial.cut_short:
        found.append(f"The trial ended early, so nothing is proven. {trial.cut_short}")
    elif not kept:
        found.append(_nothing(trial))
    return found


def _next(trial: Trial) -> str:
    """Return what to type next: what there is to read of the best cure, or of the worst finding."""
    best = trial.outcomes[0] if trial.outcomes else None
    findings = trial.diagnosis.findings if trial.diagnosis is not None else ()
    if findings and (best is None or best.decision is not Decision.KEPT):
        return f"tailwave explain {findings[0].code}"
    if best is None:
        return "tailwave fix --list"
    return f"tailwave explain {best.cure.partition(':')[0]}"


def _kept(outcome: Outcome, trial: Trial) -> str:
    """Word a gain by the median, or by the 99th percentile where only that is better."""
    shown = next((e for e in outcome.effects if _is_better(e, trial)), outcome.effects[0])
    a_step = " a step" if _unit(trial) == "us" else ""
    which = f" {shown.quantile}" if shown.quantile is not Quantile.MEDIAN else ""
    before, after = _figures(shown.before, shown.after, unit=shown.unit)
    return f"{outcome.cure}:{which} {before} -> {after}{a_step} ({_changed(shown)})"


def _is_better(effect: Effect, trial: Trial) -> bool:
    """Tell whether all of an effect's interval is a gain."""
    if effect.low is None or effect.high is None:
        return False
    higher = trial.metric is not None and trial.metric.higher_is_better
    return effect.low > 0 if higher else effect.high < 0


def _nothing(trial: Trial) -> str:
    if trial.restored is not None and not trial.restored.agrees:
        return (
            "Nothing is proven, for the machine drifted during the trial: try again when nothing "
            "else runs here."
        )
    judged = [o for o in trial.outcomes if o.decision is not Decision.NOT_APPLICABLE]
    if not judged:
        return f"Nothing could be tried: {_why_nothing(trial)}"
    harmful = [o.cure for o in judged if o.decision is Decision.HARMFUL]
    harm = f" Harmful: {', '.join(harmful)}." if harmful else ""
    tried = f"none of the {len(judged)} cures is" if len(judged) > 1 else f"{judged[0].cure} is not"
    return f"Keep the program as it is: {tried} shown to help.{harm}"


def _why_nothing(trial: Trial) -> str:
    if trial.outcomes:
        return "none of the cures below can be applied here."
    if trial.diagnosis is None:
        return "there is no diagnosis to choose by. Name cures with --cure (see --list)."
    return "the diagnosis finds nothing that a cure from outside of the program would cure."


def _print_subject(page: Page, trial: Trial) -> None:
    page.blank()
    page.paragraph(shlex.join(trial.command), lead="  program   ", lead_style="dim")
    driver = f", driver {trial.driver}" if trial.driver else ""
    page.paragraph(f"{trial.gpu or 'unknown'}{driver}", lead="  gpu       ", lead_style="dim")
    if trial.metric:
        page.paragraph(trial.metric.what, lead="  metric    ", lead_style="dim")
    spent = time(trial.seconds * _US_PER_S)
    page.paragraph(
        f"{trial.rounds} completed, {spent}, {moment(trial.started)}",
        lead="  rounds    ",
        lead_style="dim",
    )


def _print_noise(page: Page, trial: Trial) -> None:
    """Print what the program is unchanged: over the rounds, against itself, and at the end."""
    baseline, unit = trial.baseline, _unit(trial)
    if baseline is None:
        return
    known = [value for value in (baseline.median, baseline.tail) if value is not None]
    levels = ", p99 ".join(_figures(*known, unit=unit))
    samples = f", {baseline.samples} samples a run" if baseline.samples > 1 else ""
    page.paragraph(
        f"p50 {levels}{samples}",
        lead="  as it is  ",
        lead_style="dim",
    )
    for effect in trial.null:
        page.paragraph(
            f"{effect.quantile} {_changed(effect)}", lead="  null      ", lead_style="dim"
        )
    if trial.restored is not None:
        page.paragraph(_restored(trial.restored, unit), lead="  restored  ", lead_style="dim")


def _restored(restored: Restored, unit: str) -> str:
    value, low, high = _figures(restored.median, restored.low, restored.high, unit=unit)
    verdict = "agrees" if restored.agrees else "DOES NOT AGREE: the machine drifted"
    return f"p50 {value}, {verdict} ({low} to {high} expected)"


def _print_table(page: Page, outcomes: tuple[Outcome, ...]) -> None:
    if not outcomes:
        return
    page.heading("What was tried (95% intervals, for all of them together)")
    _print_row(page, ("cure", "decision", "p50", "p99", "at most"), "dim")
    for outcome in outcomes:
        effects = {effect.quantile: effect for effect in outcome.effects}
        median, tail = effects.get(Quantile.MEDIAN), effects.get(Quantile.TAIL)
        cells = (
            outcome.cure,
            outcome.decision.value,
            _brief(median) if median else "-",
            _percent(tail.change) if tail else "-",
            _percent(-outcome.bound) if outcome.bound is not None else "-",
        )
        _print_row(page, cells, _STYLES[outcome.decision])


def _print_row(page: Page, texts: tuple[str, str, str, str, str], style: str) -> None:
    cure, decision, median, tail, bound = texts
    page.columns(
        Cell("", 1),
        Cell(cure, 0, style),
        Cell(decision, 14, style),
        Cell(median, 22),
        Cell(tail, 6),
        Cell(bound, 7),
    )


def _print_details(page: Page, outcomes: tuple[Outcome, ...]) -> None:
    for number, outcome in enumerate(outcomes, start=1):
        page.blank()
        page.paragraph(
            f"{outcome.cure}: {outcome.label}",
            lead=f"{number:>2}. {outcome.decision.upper()}  ",
            lead_style=_STYLES[outcome.decision],
        )
        page.paragraph(outcome.why, lead=_INDENT)
        for effect in outcome.effects:
            _print_effect(page, effect)
        mechanism = outcome.mechanism
        if mechanism.detail and mechanism.seen is not False:  # else that is why
            page.paragraph(mechanism.detail, lead=f"{_INDENT}mechanism: ", style="dim")
        if outcome.outputs.match is not OutputMatch.NOT_EXPOSED:
            page.paragraph(_outputs(outcome.outputs), lead=f"{_INDENT}outputs:   ", style="dim")


def _print_effect(page: Page, effect: Effect) -> None:
    before, after = _figures(effect.before, effect.after, unit=effect.unit)
    page.paragraph(
        f"{before} -> {after}, {_changed(effect)}", lead=f"{_INDENT}{effect.quantile}:       "
    )


def _outputs(outputs: Outputs) -> str:
    detail = f" ({outputs.detail})" if outputs.detail else ""
    return f"{outputs.match}{detail}"


def _unit(trial: Trial) -> str:
    return trial.metric.unit if trial.metric else ""


def _changed(effect: Effect) -> str:
    if effect.low is None or effect.high is None:
        return f"{_percent(effect.change)}, of one round"
    return f"{_percent(effect.change)}, 95% interval {_span(effect.low, effect.high)}"


def _brief(effect: Effect) -> str:
    if effect.low is None or effect.high is None:
        return _percent(effect.change)
    return f"{_percent(effect.change)} ({_span(effect.low, effect.high)})"


def _span(low: float, high: float) -> str:
    return f"{_percent(low)} to {_percent(high)}"


def _percent(change: float) -> str:
    """Return a change in percent with its sign, with a decimal where it is small."""
    decimals = 1 if abs(change) < _SMALL else 0
    text = f"{100 * change:+,.{decimals}f}%"
    return "0%" if change == 0 else text


def _figures(*values: float, unit: str) -> tuple[str, ...]:
    """Return figures of the metric in one unit; a printed number, without one, is of any size."""
    if not unit and not all(_PLAIN <= value < _LONG for value in values):
        return tuple(f"{value:.3g}" for value in values)
    # Rounded first, for a geometric mean of equal figures is theirs.
    return quantities(*(float(f"{value:.6g}") for value in values), unit=unit)
