"""Before anything is changed: the program once as it is, what it is measured by, what to try."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.base import Candidate, Setting, Treatment, sentence
from tailwave.cures.catalogue.choose import Choice, Rejection, choose, named
from tailwave.cures.trials.diagnosing import diagnosed
from tailwave.cures.trials.machine import Machine
from tailwave.cures.trials.metric import Metric, default_metric, figures
from tailwave.cures.trials.run import Run, Runner, why_failed
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import Diagnosis

UNCHANGED = Treatment()


class Wanted(msgspec.Struct, frozen=True):
    """What a user asks for: the command, cures by name (() to choose), how to measure.

    ``environment`` is what the command would be run with. ``metric`` None leaves it to the first
    run, ``timeout`` (s) None gives the unchanged program all the time it takes, and a candidate as
    much more as `Rounds` has patience for.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    specs: tuple[str, ...] = ()
    metric: Metric | None = None
    rounds: int = 6
    timeout: float | None = None


class Prepared(msgspec.Struct, frozen=True):
    """What the first run has shown: how to measure, what is wrong, what will be tried."""

    metric: Metric
    seconds: float
    diagnosis: Diagnosis | None
    setting: Setting
    choice: Choice
    notes: tuple[str, ...]


def refuse_unknown(specs: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Refuse what is no cure or no parameter of it, before minutes are spent on a first run.

    Raises UsageError. What depends on the program, such as the names of its streams, is not known
    before it has run.
    """
    for spec in specs:
        if spec != spec.encode(errors="replace").decode():  # the lines that keep it are text
            raise UsageError(f"--cure {spec!r} is no text in UTF-8: write it in UTF-8.")
        named(spec, Setting(environment=environment), CURES)


def prepare(wanted: Wanted, runner: Runner, machine: Machine) -> Prepared:
    """Run the program once, diagnose it, and choose what to try.

    Raises UnreadableInputError when the program fails as it is or gives no metric, and UsageError
    for a cure's parameter that means nothing here.
    """
    first = runner.run(UNCHANGED, profile=True, limit_s=wanted.timeout)
    if first.failed:
        why = why_failed(first)
        raise UnreadableInputError(f"the program fails as it is, so nothing was tried: {why}")
    metric = wanted.metric or default_metric(first)
    figures(metric, first)  # before more time is spent on what cannot be measured
    diagnosis, note = diagnosed(runner.trace(), first)
    setting = _setting(wanted, machine, diagnosis, first)
    choice = _named(wanted.specs, setting) if wanted.specs else choose(diagnosis, setting, CURES)
    notes = (*([note] if note else []), *_complaints(first), *choice.advice)
    return Prepared(metric, first.seconds, diagnosis, setting, choice, notes)


def _complaints(run: Run) -> tuple[str, ...]:
    """Return what went wrong inside the program's processes while they were followed."""
    words = dict.fromkeys(told.error for told in run.told if told.error)
    return tuple(f"Inside the program: {sentence(error)}" for error in words)


def _setting(wanted: Wanted, machine: Machine, diagnosis: Diagnosis | None, first: Run) -> Setting:
    return Setting(
        environment=wanted.environment,
        diagnosis=diagnosis,
        gpus=machine.gpus,
        cpus=machine.cpus,
        mps_why_not=machine.mps_why_not,
        is_python=bool(first.reports),
        streams=tuple(sorted({name for told in first.told for name in told.streams})),
    )


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
