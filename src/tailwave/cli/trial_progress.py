"""Says on stderr what a trial is about to do, and how far it is."""

from __future__ import annotations

from tailwave.cli.bar import Bar
from tailwave.cures.catalogue.base import Candidate
from tailwave.cures.catalogue.choose import Choice
from tailwave.figures import percent, time

_US_PER_S = 1e6


class TrialProgress(Bar):
    """A bar over the runs, on a terminal; what may be gained is said wherever stderr goes."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        super().__init__(total=1, width=20)

    def planned(self, choice: Choice, /) -> None:
        """Say what will be tried, and what each can bring at most."""
        for candidate in choice.candidates:
            self._say(f"will try {candidate.spec}: {_bound(candidate)}")

    def begin(self, what: str, done: int, total: int, left_s: float | None, /) -> None:
        """Say which run begins, and how long the trial may take from here."""
        left = f", {time(left_s * _US_PER_S)} left at most" if left_s is not None else ""
        self.update(f"{what}{left}", done, total)

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, soft_wrap=True)


def _bound(candidate: Candidate) -> str:
    if candidate.bound is None:
        return "no diagnosis says what it can bring"
    return f"by the diagnosis it saves {percent(candidate.bound)} of a step at most"
