"""Tries cures on a command, says on stderr how far it is, and prints what came of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tailwave.cli.bar import Bar
from tailwave.cli.console import show
from tailwave.cli.trial_options import Options
from tailwave.cures.catalogue.choose import Choice
from tailwave.cures.trials.metric import PrintedNumber
from tailwave.cures.trials.preparing import Request
from tailwave.cures.trials.trial import try_cures
from tailwave.errors import UsageError
from tailwave.figures import percent, time
from tailwave.model import Trial
from tailwave.reports import to_json

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDED_BY = 128  # and the signal's number, as shells count
_US_PER_S = 1e6


def try_command(command: tuple[str, ...], options: Options) -> int:
    """Try cures on a command; return the exit code: 0, or that of the signal that ended it."""
    metric = None
    if options.metric is not None:
        metric = PrintedNumber(options.metric, higher_is_better=options.higher_is_better)
    request = Request(
        command=command,
        environment=dict(os.environ),
        cures=options.cure,
        metric=metric,
        rounds=options.rounds,
        timeout_s=options.timeout,
    )
    _refuse_unwritable(options.save)
    with _ended_by() as received, _TrialBar() as progress:
        trial = try_cures(request, progress)
    _print(trial, options)
    return _ENDED_BY + received[0] if received else 0


class _TrialBar(Bar):
    """A bar over the runs, on a terminal; what may be gained is said wherever stderr goes."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        super().__init__(total=1, width=20)

    def planned(self, choice: Choice, /) -> None:
        """Say what will be tried, and what each can bring at most."""
        for candidate in choice.candidates:
            most = "no diagnosis says what it can bring"
            if candidate.bound is not None:
                most = f"by the diagnosis it saves {percent(candidate.bound)} of a step at most"
            line = f"will try {candidate.spec}: {most}"
            self.console.print(line, markup=False, soft_wrap=True)

    def begin(self, what: str, done: int, total: int, left_s: float | None, /) -> None:
        """Say which run begins, and how long the trial may take from here."""
        left = f", {time(left_s * _US_PER_S)} left at most" if left_s is not None else ""
        self.update(f"{what}{left}", done, total)


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
    if path is None:
        return
    try:
        writable = os.access(path if path.exists() else path.parent, os.W_OK)
    except OSError:  # a name that is too long
        writable = False
    if not writable:
        raise UsageError(f"cannot write {path}: there is no such folder, or it is not yours.")


def _print(trial: Trial, options: Options) -> None:
    """Save the trial, and print it whether or not that went well: it took minutes."""
    unsaved = ""
    if options.save is not None:
        try:
            options.save.write_bytes(to_json(trial) + b"\n")
        except OSError as error:
            unsaved = f"cannot write {options.save}: {error.strerror}."
    show(trial, as_json=options.as_json)
    if unsaved:
        raise UsageError(unsaved)
