"""The trial: a program as it is and with cures, in turns, and what came of each.

The order of things is the method. The program runs once as it is, which warms the machine's
caches, is profiled and counts as nothing; what may be gained is said before anything is applied;
every round runs the program as it is, the null control and each candidate still in play; a
candidate that can no longer gain is dropped; the rounds are over once each of the others is decided
on; in the end the program runs as it is again, and must be what it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from tailwave.cures.catalogue.base import Setting
from tailwave.cures.trials import concluding, mps
from tailwave.cures.trials.guards import open_guards
from tailwave.cures.trials.preparing import Preparation, Request, prepare
from tailwave.cures.trials.refusals import refuse_unknown, refuse_unstartable
from tailwave.cures.trials.rounds import Observer, Rounds
from tailwave.cures.trials.run import Runner
from tailwave.cures.trials.runner import ProcessRunner
from tailwave.cures.trials.workspace import workspace
from tailwave.model import MetricInfo, Trial

_INTERRUPTED: Final = "It was interrupted."


def try_cures(request: Request, observer: Observer) -> Trial:
    """Try cures on a command of this machine, told to an observer as it goes on.

    A KeyboardInterrupt ends the trial early and keeps what was learnt. Raises UsageError for a
    cure that there is not, UnreadableInputError when the program fails as it is or gives no metric,
    and UnavailableError, with what to do next, where the program cannot be started or the machine
    would not measure it: another process on its GPU, a clock held down, HAMi in between.
    """
    refuse_unstartable(request.command, request.environment)
    refuse_unknown(request.cures, request.environment)
    guards = open_guards(request.environment)
    guards.check()
    setting = Setting(
        environment=request.environment,
        gpus=guards.count,
        cpus=len(os.sched_getaffinity(0)),
        mps_why_not=mps.why_not(request.environment, mig=guards.mig),
    )
    with workspace() as folder:
        runner = ProcessRunner(request.command, folder, request.environment)
        trial = experiment(request, setting, runner, observer, guards.against)
    names = dict.fromkeys(gpu.name for gpu in guards.gpus)
    return replace(
        trial,
        gpu=", ".join(names),
        driver=guards.driver,
        notes=(*guards.notes, *trial.notes),
    )


def experiment(
    request: Request,
    setting: Setting,
    runner: Runner,
    observer: Observer,
    watch: Callable[[], str],
) -> Trial:
    """Try cures on a program in a machine's setting, by whatever runs it; raises as `try_cures`.

    ``watch`` is asked after each run what speaks against going on, "" for nothing.
    """
    started, began = datetime.now(UTC), time.monotonic()
    preparation, rounds, cut_short = None, None, ""
    try:
        observer.begin("first run, as it is, profiled", 0, 1, None)
        preparation = prepare(request, setting, runner)
        observer.planned(preparation.choice)
        rounds = Rounds(request, preparation, runner, observer)
        rounds.run(watch)
        cut_short = rounds.cut_short
    except KeyboardInterrupt:
        cut_short = _INTERRUPTED
        if rounds is not None:
            rounds.cut_short = cut_short
    trial = Trial(
        command=request.command,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - began,
        gpu="",
        driver="",
        cut_short=cut_short,
    )
    if preparation is not None:
        trial = _with_preparation(trial, preparation)
    return trial if rounds is None else _with_rounds(trial, rounds)


def _with_preparation(trial: Trial, preparation: Preparation) -> Trial:
    return replace(
        trial,
        metric=MetricInfo(
            what=preparation.metric.words(),
            unit=preparation.metric.unit,
            higher_is_better=preparation.metric.higher_is_better,
        ),
        outcomes=tuple(
            concluding.not_tried(one.candidate, one.why) for one in preparation.choice.dropped
        ),
        diagnosis=preparation.diagnosis,
        notes=preparation.notes,
    )


def _with_rounds(trial: Trial, rounds: Rounds) -> Trial:
    return replace(
        trial,
        rounds=rounds.completed,
        baseline=concluding.baseline(rounds),
        null=rounds.null_effects(),
        restored=concluding.restored(rounds),
        outcomes=(
            *concluding.outcomes(rounds),
            *(concluding.held_back(reserve) for reserve in rounds.reserves),
            *trial.outcomes,
        ),
    )
