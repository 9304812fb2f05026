"""The rounds of a trial: the program as it is, the null control and each candidate, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tailwave.cures.catalogue.base import Candidate
from tailwave.cures.catalogue.choose import Choice, stands_in
from tailwave.cures.trials import outputs
from tailwave.cures.trials.arm import AS_IT_IS, NULL, Arm, order
from tailwave.cures.trials.deciding import (
    LEAST_GAIN,
    LEAST_ROUNDS,
    Judgement,
    can_gain,
    error_of_look,
    judge,
)
from tailwave.cures.trials.effects import ERROR, agreement, effects
from tailwave.cures.trials.metric import Figures, figures
from tailwave.cures.trials.preparing import UNCHANGED, Preparation, Request
from tailwave.cures.trials.run import Run, Runner, why_failed
from tailwave.errors import UnavailableError, UnreadableInputError
from tailwave.model import Decision, Effect

_RESTORED: Final = "as it is, once more"
# A candidate may take so many times the slowest unchanged run, and what compilers take, once a run.
_PATIENCE: Final = 5
_GRACE_S: Final = 120.0


class Observer(Protocol):
    """Who is told what a trial does, while it does it."""

    def planned(self, choice: Choice, /) -> None:
        """Hear which candidates will be tried, and what each can bring at most."""

    def begin(self, what: str, done: int, total: int, left_s: float | None, /) -> None:
        """Hear that a run begins: how many are done, of how many at most, and the time left (s)."""


class Rounds:
    """The arms of a trial and what they have shown so far, complete or not.

    ``cut_short`` is the sentence that says why the rounds ended early, "" when they did not.
    """

    def __init__(
        self, request: Request, preparation: Preparation, runner: Runner, observer: Observer
    ) -> None:
        """Nothing has been run yet."""
        self._request, self._runner, self._observer = request, runner, observer
        self.metric = preparation.metric
        self.as_it_is, self.null = Arm(AS_IT_IS, UNCHANGED), Arm(NULL, UNCHANGED)
        self._setting = preparation.setting
        self.tried = [self._arm(candidate) for candidate in preparation.choice.candidates]
        self.reserves = list(preparation.choice.reserves)
        self.completed = 0
        self.restored: float | None = None
        self.cut_short = ""
        self._seconds = [preparation.seconds]
        self._slowest_s = preparation.seconds

    def run(self, watch: Callable[[], str]) -> None:
        """Run rounds until all is decided or none is left, and the program as it is once more.

        ``watch`` is asked after each run what speaks against going on, "" for nothing.
        """
        while self.completed < self._request.rounds and self._in_play() and not self.cut_short:
            self._round(watch)
        if self.completed and not self.cut_short:
            self._restore()

    def effects_of(self, arm: Arm) -> tuple[Effect, ...]:
        """Return an arm's effects, each interval so wide that 95% holds for all of the trial's.

        That is, for every candidate and quantile whenever it was looked at: one that was dropped
        was looked at for the last time then, not at the end of the trial.
        """
        tails = any(figures.tail is not None for figures in self.as_it_is.figures.values())
        looked_at = len(self.tried) * (2 if tails else 1)
        error = error_of_look(len(arm.figures), self._request.rounds) / looked_at
        return effects(self.as_it_is.figures, arm.figures, self.metric.unit, 1 - error)

    def null_effects(self) -> tuple[Effect, ...]:
        """Return what the null control shows: noise, with its own 95% interval."""
        return effects(self.as_it_is.figures, self.null.figures, self.metric.unit, 1 - ERROR)

    def judgement(self, arm: Arm) -> Judgement:
        """Decide on an arm by its effects alone, as far as that can be done after its rounds."""
        if len(arm.figures) < LEAST_ROUNDS:
            return Judgement(Decision.NO_GAIN, f"Before {LEAST_ROUNDS} rounds nothing is decided.")
        higher = self.metric.higher_is_better
        return judge(self.effects_of(arm), self.null_effects(), higher_is_better=higher)

    def _in_play(self) -> list[Arm]:
        """Return the candidates that are not dropped, and neither kept nor harmful yet."""
        return [arm for arm in self.tried if not arm.over and not arm.decided]

    def _round(self, watch: Callable[[], str]) -> None:
        """Run every arm in play once; a round that is not complete counts as none.

        What ended it may have disturbed the runs before, too.
        """
        arms = order([self.as_it_is, self.null, *self._in_play()], self.completed)
        runs: dict[str, Run] = {}
        measured: dict[str, Figures] = {}
        for place, arm in enumerate(arms):
            try:
                runs[arm.name] = self._run(arm, place, len(arms))
            except UnavailableError as error:
                self._leave_out(arm, error)
            else:
                measured |= self._take_in(arm, runs[arm.name])
            self.cut_short = self.cut_short or watch()
            if self.cut_short:
                return
        for arm in arms:
            if arm.name in measured:
                arm.figures[self.completed] = measured[arm.name]
        self._compare_outputs(arms, runs)
        self.completed += 1
        self._drop()
        self._decide()
        self._call_up()

    def _arm(self, candidate: Candidate) -> Arm:
        return Arm(candidate.spec, candidate.treatment(self._setting), candidate)

    def _call_up(self) -> None:
        """Bring a reserve into play where what it stands in for failed or did not take hold."""
        failed = [arm.candidate for arm in self.tried if arm.idle or arm.broken]
        for reserve in tuple(self.reserves):
            if any(one is not None and stands_in(reserve, one) for one in failed):
                self.reserves.remove(reserve)
                self.tried.append(self._arm(reserve))

    def _run(self, arm: Arm, place: int, of: int) -> Run:
        rounds = self._request.rounds
        done, total = self.completed * of + place, rounds * of + 1
        what = f"round {self.completed + 1} of {rounds}: {arm.name}"
        self._observer.begin(what, done, total, self._left_s(total - done))
        run = self._runner.run(arm.treatment, limit_s=self._limit_s(arm))
        self._seconds.append(run.seconds)
        if arm.candidate is None:
            self._slowest_s = max(self._slowest_s, run.seconds)
        return run

    def _limit_s(self, arm: Arm) -> float | None:
        """Return how long an arm may run: a cure under which the program hangs must end."""
        if self._request.timeout_s is not None or arm.candidate is None:
            return self._request.timeout_s
        return _PATIENCE * self._slowest_s + _GRACE_S

    def _left_s(self, runs: int) -> float:
        return runs * sum(self._seconds) / len(self._seconds)

    def _take_in(self, arm: Arm, run: Run) -> dict[str, Figures]:
        """Return what a run measured, by its arm. A program that fails unchanged ends the trial."""
        found, problem = self._measured(run)
        if problem and arm.candidate is None:
            self.cut_short = (
                f"In round {self.completed + 1} the unchanged program failed: {problem}"
            )
        elif problem:
            arm.over, arm.broken = f"With it the program fails: {problem}", True
        elif arm.candidate is not None:
            arm.mechanism = arm.candidate.mechanism(run.reports)
            if arm.mechanism.works is False:
                arm.over, arm.idle = f"It did not take hold: {arm.mechanism.sentence}", True
        return {} if found is None else {arm.name: found}

    def _measured(self, run: Run) -> tuple[Figures | None, str]:
        """Return a run's figures, or the words that say why it has none."""
        if run.failed:
            return None, why_failed(run)
        try:
            return figures(self.metric, run), ""
        except UnreadableInputError as error:
            return None, str(error)

    def _leave_out(self, arm: Arm, error: UnavailableError) -> None:
        """Go on without an arm that could not be run; without the unchanged ones there is none."""
        if arm.candidate is None:
            self.cut_short = f"In round {self.completed + 1} the program could not run: {error}"
        else:
            arm.over, arm.idle = f"It could not be applied: {error}", True

    def _compare_outputs(self, arms: Sequence[Arm], runs: dict[str, Run]) -> None:
        for arm in arms:
            if arm is not self.as_it_is and arm.name in runs and not arm.broken:
                arm.outputs.append(outputs.compare(runs[AS_IT_IS], runs[arm.name]))

    def _drop(self) -> None:
        """Drop candidates that compute something else, and those that can gain nothing any more."""
        for arm in self._in_play():
            if arm.outputs_differ and not self.null.outputs_differ:
                arm.over = f"With it the program computes something else: {arm.match.detail}."
                continue
            shown = effects(self.as_it_is.figures, arm.figures, self.metric.unit, 1 - ERROR)
            higher = self.metric.higher_is_better
            if self.completed >= LEAST_ROUNDS and not can_gain(shown, higher_is_better=higher):
                arm.over = (
                    f"After {self.completed} rounds its 95% interval does not reach a gain of "
                    f"{LEAST_GAIN:.0%}."
                )

    def _decide(self) -> None:
        """Take out of play what is kept or harmful by now: more rounds would only take time."""
        for arm in self._in_play():
            arm.decided = self.judgement(arm).decision is not Decision.NO_GAIN

    def _restore(self) -> None:
        """Measure the program as it is again; once more if that was off, for one run may be."""
        for _ in range(2):
            self._observer.begin(_RESTORED, 0, 1, self._left_s(1))
            try:
                again, problem = self._measured(
                    self._runner.run(UNCHANGED, limit_s=self._request.timeout_s)
                )
            except UnavailableError as error:
                again, problem = None, str(error)
            if again is None:
                self.cut_short = f"Run again at the end, the unchanged program failed: {problem}"
                return
            self.restored = again.median
            if agreement(self.as_it_is.figures, self.restored).agrees:
                return
