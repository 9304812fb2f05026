"""How often simulated trials keep what does nothing, and find what helps."""

from __future__ import annotations

import pytest

from tailwave.cures.trials.concluding import outcomes
from tailwave.model import Decision
from tests.cures.trials.script import (
    Scripted,
    candidate,
    noisy,
    nothing,
    rounds_of,
)

TRIALS = 100


@pytest.mark.parametrize(
    ("noise", "drift", "slow"),
    [(0.01, 0.0, 0.0), (0.02, 0.0, 0.0), (0.03, 0.0, 0.0), (0.01, 0.002, 0.1), (0.03, 0.002, 0.1)],
)
def test_a_healthy_program_keeps_nothing(noise: float, drift: float, slow: float) -> None:
    """Of 100 trials of four cures that do nothing, at most 5 keep any.

    Runs scatter by 1 to 3%, get slower from run to run, and are disturbed now and then.
    """
    false = 0
    for seed in range(TRIALS):
        program = Scripted(noisy({}, noise, seed, drift=drift, slow=slow))
        rounds = rounds_of(program, *map(candidate, ("a", "b", "c", "d")))
        rounds.run(nothing)
        false += any(outcome.decision is Decision.KEPT for outcome in outcomes(rounds))
    assert false <= TRIALS * 0.05


def test_a_true_gain_of_five_percent_is_found() -> None:
    """Beside three cures that do nothing, with runs that scatter by 1%, 9 times of 10."""
    found, false = 0, 0
    for seed in range(TRIALS):
        program = Scripted(noisy({"true": 0.95}, 0.01, seed))
        rounds = rounds_of(program, *map(candidate, ("a", "true", "b", "c")))
        rounds.run(nothing)
        kept = [o.cure for o in outcomes(rounds) if o.decision is Decision.KEPT]
        found += "true" in kept
        false += len(set(kept) - {"true"})
    assert found >= TRIALS * 0.9
    assert false <= TRIALS * 0.05
