"""Says on stderr what a trial is about to do, and how far it is."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tailwave.figures import percent, time
from tailwave.remedies.base import Candidate
from tailwave.remedies.choose import Choice

_US_PER_S = 1e6


class TrialProgress:
    """A bar over the runs, on a terminal; what may be gained is said wherever stderr goes."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        self._bar = Progress(
            *columns, console=self._console, transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._bar.add_task("", total=1)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def planned(self, choice: Choice, /) -> None:
        """Say what will be tried, and what each can bring at most."""
        for candidate in choice.candidates:
            self._say(f"will try {candidate.spec}: {_bound(candidate)}")

    def begin(self, what: str, done: int, total: int, left_s: float | None, /) -> None:
        """Say which run begins, and how long the trial may take from here."""
        left = f", {time(left_s * _US_PER_S)} left at most" if left_s is not None else ""
        self._bar.update(self._task, description=f"{what}{left}", completed=done, total=total)

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def _bound(candidate: Candidate) -> str:
    if candidate.bound is None:
        return "no diagnosis says what it can bring"
    return f"by the diagnosis it saves {percent(candidate.bound)} of a step at most"
