"""The trial: a program as it is and with cures, in turns, and what came of each.

The order of things is the method. The program runs once as it is, which warms the machine's
caches, is profiled and counts as nothing; what may be gained is said before anything is applied;
every round runs the program as it is, the null control and each candidate still in play; a
candidate that can no longer gain is dropped; the rounds are over once each of the others is decided
on; in the end the program runs as it is again, and must be what it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from tailwave.cures.trials import concluding
from tailwave.cures.trials.machine import Machine
from tailwave.cures.trials.preparing import Prepared, Wanted, prepare, refuse_unknown
from tailwave.cures.trials.rounds import Observer, Rounds
from tailwave.cures.trials.run import Runner
from tailwave.model import MetricInfo, Trial

_INTERRUPTED: Final = "It was interrupted."


class Bench(NamedTuple):
    """What a trial is made with: the machine, what runs the program, who is told, who warns."""

    machine: Machine
    runner: Runner
    observer: Observer
    watch: Callable[[], str]


def experiment(wanted: Wanted, bench: Bench) -> Trial:
    """Try cures on a program. An interruption ends the trial early and keeps what was learnt.

    Raises UnreadableInputError when the program fails as it is or gives no metric, and UsageError
    for a cure or a parameter that there is not.
    """
    refuse_unknown(wanted.specs, wanted.environment)
    started, began = datetime.now(UTC), time.monotonic()
    prepared, rounds, cut_short = None, None, ""
    try:
        bench.observer.begin("first run, as it is, profiled", 0, 1, None)
        prepared = prepare(wanted, bench.runner, bench.machine)
        bench.observer.planned(prepared.choice)
        rounds = Rounds(wanted, prepared, bench.runner, bench.observer)
        rounds.run(bench.watch)
        cut_short = rounds.cut_short
    except KeyboardInterrupt:
        cut_short = _INTERRUPTED
        if rounds is not None:
            rounds.cut_short = cut_short
    trial = Trial(
        command=wanted.command,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - began,
        gpu=bench.machine.gpu,
        driver=bench.machine.driver,
        cut_short=cut_short,
    )
    if prepared is not None:
        trial = _with_preparation(trial, prepared)
    return trial if rounds is None else _with_rounds(trial, rounds)


def _with_preparation(trial: Trial, prepared: Prepared) -> Trial:
    return replace(
        trial,
        metric=MetricInfo(
            what=prepared.metric.words(),
            unit=prepared.metric.unit,
            higher_is_better=prepared.metric.higher_is_better,
        ),
        outcomes=tuple(concluding.not_tried(dropped) for dropped in prepared.choice.dropped),
        diagnosis=prepared.diagnosis,
        notes=prepared.notes,
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
