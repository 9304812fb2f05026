"""Before anything is changed: what is asked for, and what one run of the program as it is shows.

By that run it is decided what the program is measured by, what is wrong with it, and what to try.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.base import Candidate, Setting, Treatment, sentence
from tailwave.cures.catalogue.choose import Choice, Rejection, choose, named
from tailwave.cures.trials.metric import Metric, default_metric, figures
from tailwave.cures.trials.run import Run, Runner, why_failed
from tailwave.errors import UnreadableInputError
from tailwave.model import Diagnosis
from tailwave.recordings import diagnose, read

UNCHANGED = Treatment()


class Request(msgspec.Struct, frozen=True):
    """What a user asks for: the command, cures by name (() to choose), how to measure.

    ``environment`` is what the command would be run with. ``metric`` None leaves it to the first
    run, ``timeout_s`` None gives the unchanged program all the time it takes, and a candidate as
    much more as `Rounds` has patience for.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    cures: tuple[str, ...] = ()
    metric: Metric | None = None
    rounds: int = 6
    timeout_s: float | None = None


class Preparation(msgspec.Struct, frozen=True):
    """What the first run has shown: how to measure, what is wrong, what will be tried."""

    metric: Metric
    seconds: float
    diagnosis: Diagnosis | None
    setting: Setting
    choice: Choice
    notes: tuple[str, ...]


def prepare(request: Request, setting: Setting, runner: Runner) -> Preparation:
    """Run the program once, diagnose it, and choose what to try in a machine's setting.

    Raises UnreadableInputError when the program fails as it is or gives no metric, and UsageError
    for a cure's parameter that means nothing here.
    """
    first = runner.run(UNCHANGED, profile=True, limit_s=request.timeout_s)
    if first.failed:
        why = why_failed(first)
        raise UnreadableInputError(f"the program fails as it is, so nothing was tried: {why}")
    metric = request.metric or default_metric(first)
    figures(metric, first)  # before more time is spent on what cannot be measured
    diagnosis, why_none = _diagnosis(runner.trace(), first)
    setting = replace(
        setting,
        diagnosis=diagnosis,
        is_python=bool(first.reports),
        streams=tuple(sorted({name for process in first.processes for name in process.streams})),
    )
    choice = _named(request.cures, setting) if request.cures else choose(diagnosis, setting, CURES)
    without = (f"Without a diagnosis: {why_none}",) if why_none else ()
    errors = dict.fromkeys(process.error for process in first.processes if process.error)
    inside = (f"Inside the program: {sentence(error)}" for error in errors)
    notes = (*without, *inside, *choice.advice)
    return Preparation(metric, first.seconds, diagnosis, setting, choice, notes)


def _diagnosis(trace: str, run: Run) -> tuple[Diagnosis | None, str]:
    """Diagnose the profile that a run recorded; without one, the sentence that says why."""
    if not trace:
        return None, _why_no_profile(run)
    try:
        return diagnose(read(Path(trace)), "the program's first run"), ""
    except UnreadableInputError as error:
        return None, str(error)


def _why_no_profile(run: Run) -> str:
    """Say why no profile was recorded, as the program's processes tell it."""
    for report in run.reports:
        profile: Any = report.get("profile")
        if isinstance(profile, dict) and profile.get("why_not"):
            return f"{profile['why_not']}."
    if not run.reports:
        return (
            "the program runs no Python that could be entered (python -E, -I and -S keep it shut), "
            "so it records no profile of itself and marks no steps."
        )
    return "the program recorded no profile of itself (it needs torch, and work on a GPU)."


def _named(specs: tuple[str, ...], setting: Setting) -> Choice:
    """Return the candidates that a user names, apart from those that cannot be tried here."""
    candidates: list[Candidate] = []
    dropped: list[Rejection] = []
    for spec in dict.fromkeys(specs):
        candidate = named(spec, setting, CURES)
        why = candidate.why_not(setting)
        if why:
            dropped.append(Rejection(candidate, why))
        else:
            candidates.append(candidate)
    return Choice(candidates=tuple(candidates), dropped=tuple(dropped))
