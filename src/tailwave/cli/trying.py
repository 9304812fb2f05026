"""Tries cures on a command, and prints what came of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from tailwave.cli.console import show
from tailwave.cli.trial_options import Options
from tailwave.cli.trial_progress import TrialProgress
from tailwave.cures.trials.experiment import Bench, experiment
from tailwave.cures.trials.guards import Guards, open_guards
from tailwave.cures.trials.machine import Machine
from tailwave.cures.trials.metric import Printed
from tailwave.cures.trials.mps import why_not
from tailwave.cures.trials.preparing import Wanted, refuse_unknown
from tailwave.cures.trials.runner import ProcessRunner
from tailwave.cures.trials.startable import refuse_unstartable
from tailwave.cures.trials.workspace import workspace
from tailwave.errors import UsageError
from tailwave.model import Trial
from tailwave.reports import to_json

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDED_BY = 128  # and the signal's number, as shells count


def try_command(command: tuple[str, ...], options: Options) -> int:
    """Try cures on a command; return the exit code: 0, or that of the signal that ended it."""
    wanted = _wanted(command, options)
    refuse_unstartable(command, wanted.environment)
    refuse_unknown(wanted.specs, wanted.environment)
    _refuse_unwritable(options.save)
    guards = open_guards(wanted.environment)
    guards.check()
    with _ended_by() as received, workspace() as folder, TrialProgress() as progress:
        runner = ProcessRunner(command, folder, wanted.environment)
        trial = experiment(wanted, Bench(_machine(guards), runner, progress, guards.against))
    _print(replace(trial, notes=(*guards.notes, *trial.notes)), options)
    return _ENDED_BY + received[0] if received else 0


def _wanted(command: tuple[str, ...], options: Options) -> Wanted:
    metric = None
    if options.metric is not None:
        metric = Printed(options.metric, higher_is_better=options.higher_is_better)
    return Wanted(
        command=command,
        environment=dict(os.environ),
        specs=options.cure,
        metric=metric,
        rounds=options.rounds,
        timeout=options.timeout,
    )


def _machine(guards: Guards) -> Machine:
    return Machine(
        gpu=", ".join(dict.fromkeys(gpu.name for gpu in guards.gpus)),
        driver=guards.driver,
        gpus=guards.count,
        cpus=len(os.sched_getaffinity(0)),
        mps_why_not=why_not(os.environ, mig=guards.mig),
    )


@contextmanager
def _ended_by() -> Iterator[list[int]]:
    """Let signals that end a program interrupt the trial, so that it can say what it learnt.

    The first does: those that follow find it ending already, and must not keep it from cleaning up,
    which takes seconds. One that is ignored (nohup, a shell's background) stays ignored.
    """
    received: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _ENDINGS}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _refuse_unwritable(path: Path | None) -> None:
    """Refuse before minutes are spent on what could then not be saved."""
    if path is not None and not _can_be_written(path):
        raise UsageError(f"cannot write {path}: there is no such folder, or it is not yours.")


def _can_be_written(path: Path) -> bool:
    try:
        return os.access(path if path.exists() else path.parent, os.W_OK)
    except OSError:  # a name that is too long
        return False


def _print(trial: Trial, options: Options) -> None:
    """Save the trial, and print it whether or not that went well: it took minutes."""
    unsaved = "" if options.save is None else _save(to_json(trial), options.save)
    show(trial, as_json=options.as_json)
    if unsaved:
        raise UsageError(unsaved)


def _save(document: bytes, path: Path) -> str:
    """Write the document; return the sentence that says why it could not be, "" when it was."""
    try:
        path.write_bytes(document + b"\n")
    except OSError as error:
        return f"cannot write {path}: {error.strerror}."
    return ""
