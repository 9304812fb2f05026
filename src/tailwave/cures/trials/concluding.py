"""From the rounds of a trial to what it concludes about each cure."""

from __future__ import annotations

from typing import Final

from tailwave.cures.catalogue.base import Candidate
from tailwave.cures.trials.arm import Arm
from tailwave.cures.trials.deciding import Judgement
from tailwave.cures.trials.effects import ERROR, agreement, effects
from tailwave.cures.trials.rounds import Rounds
from tailwave.model import (
    Baseline,
    Decision,
    Mechanism,
    Outcome,
    OutputMatch,
    Outputs,
    Quantile,
    Restored,
)

_DRIFTED: Final = (
    "It looked better, but the machine drifted: the unchanged program, run again at the end, is "
    "not what it was. Try again when nothing else runs here."
)


def restored(rounds: Rounds) -> Restored | None:
    """Return how the program as it is was at the end; None where it was not run again."""
    if rounds.restored is None:
        return None
    return agreement(rounds.as_it_is.figures, rounds.restored)


def baseline(rounds: Rounds) -> Baseline | None:
    """Return the program as it is over the rounds; None where there was none."""
    itself = rounds.as_it_is.figures
    if not itself:
        return None
    levels = {e.quantile: e.before for e in effects(itself, itself, rounds.metric.unit, 1 - ERROR)}
    return Baseline(
        median=levels[Quantile.MEDIAN],
        tail=levels.get(Quantile.TAIL),
        samples=min(figures.samples for figures in itself.values()),
    )


def outcomes(rounds: Rounds) -> tuple[Outcome, ...]:
    """Return what became of each candidate that was tried, the kept ones first."""
    found = [_outcome(rounds, arm) for arm in rounds.tried]
    return tuple(sorted(found, key=_rank))


def not_tried(candidate: Candidate, why: str) -> Outcome:
    """Return the outcome of a candidate that could not be tried or was not worth it."""
    return Outcome(
        cure=candidate.spec,
        label=candidate.label,
        decision=Decision.NOT_APPLICABLE,
        why=why,
        bound=candidate.bound,
    )


def held_back(reserve: Candidate) -> Outcome:
    """Return the outcome of a reserve that was not called up."""
    return not_tried(
        reserve,
        "Not tried: another cure answers the same finding, and each run of this one compiles for "
        f"up to a minute. To try it: --cure {reserve.spec}.",
    )


def _rank(outcome: Outcome) -> tuple[int, float]:
    gain = outcome.effects[0].change if outcome.effects else 0.0
    return list(Decision).index(outcome.decision), gain


def _outcome(rounds: Rounds, arm: Arm) -> Outcome:
    assert arm.candidate is not None  # noqa: S101 - so it is of every arm that is tried
    decision, why = _decided(rounds, arm)
    match, detail = arm.match
    if match is OutputMatch.DIFFER and rounds.null.outputs_differ:
        match, detail = OutputMatch.NOT_COMPARABLE, rounds.null.match.detail
    kept = decision is Decision.KEPT
    return Outcome(
        cure=arm.candidate.spec,
        label=arm.candidate.label,
        decision=decision,
        why=why,
        effects=rounds.effects_of(arm),
        rounds=len(arm.figures),
        bound=arm.candidate.bound,
        mechanism=Mechanism(arm.mechanism.works, arm.mechanism.sentence),
        outputs=Outputs(match, detail),
        lines=arm.candidate.lines() if kept else (),
    )


def _decided(rounds: Rounds, arm: Arm) -> Judgement:
    if arm.broken:
        return Judgement(Decision.HARMFUL, arm.over)
    if arm.idle:
        return Judgement(Decision.NOT_APPLICABLE, arm.over)
    if arm.outputs_differ and not rounds.null.outputs_differ:
        return Judgement(Decision.HARMFUL, arm.over)
    judged = rounds.judgement(arm)
    if judged.decision is Decision.KEPT:
        return _confirmed(rounds, judged)
    if judged.decision is Decision.NO_GAIN and arm.over:
        return Judgement(Decision.NO_GAIN, arm.over)
    return judged


def _confirmed(rounds: Rounds, judged: Judgement) -> Judgement:
    """Keep what looks better only if the trial came to its end and the machine stayed the same."""
    last = restored(rounds)
    if rounds.cut_short or last is None:
        return Judgement(
            Decision.NO_GAIN, "It looks better so far, but the trial ended before that was proven."
        )
    if not last.agrees:
        return Judgement(Decision.NO_GAIN, _DRIFTED)
    return judged
