"""How often simulated trials keep what does nothing, and find what helps."""

from __future__ import annotations

from tailwave.cures.trials.concluding import outcomes
from tailwave.model import Decision
from tests.cures.trials.script import Scripted, candidate, noisy, nothing, rounds_of

TRIALS = 40
# How much runs scatter, how much slower each is than the one before, how often one is disturbed.
KINDS_OF_NOISE = (
    (0.01, 0.0, 0.0),
    (0.02, 0.0, 0.0),
    (0.03, 0.0, 0.0),
    (0.01, 0.002, 0.1),
    (0.03, 0.002, 0.1),
)


def kept(program: Scripted, *cures: str) -> set[str]:
    """Return the cures that a trial of six rounds at most keeps."""
    rounds = rounds_of(program, *map(candidate, cures))
    rounds.run(nothing)
    return {o.cure for o in outcomes(rounds) if o.decision is Decision.KEPT}


def test_a_healthy_program_keeps_nothing() -> None:
    """Of 200 trials of four cures that do nothing, at most 1 in 20 keeps any.

    Runs scatter by 1 to 3%, get slower from run to run, and are disturbed now and then.
    """
    wrong = 0
    for noise, drift, slow in KINDS_OF_NOISE:
        for seed in range(TRIALS):
            program = Scripted(noisy({}, noise, seed, drift=drift, slow=slow))
            wrong += bool(kept(program, "a", "b", "c", "d"))
    assert wrong <= len(KINDS_OF_NOISE) * TRIALS * 0.05


def test_a_true_gain_of_five_percent_is_found() -> None:
    """Beside three cures that do nothing, with runs that scatter by 1%, 9 times of 10."""
    found, wrong = 0, 0
    for seed in range(TRIALS):
        program = Scripted(noisy({"true": 0.95}, 0.01, seed))
        cures = kept(program, "a", "true", "b", "c")
        found += "true" in cures
        wrong += len(cures - {"true"})
    assert found >= TRIALS * 0.9
    assert wrong <= TRIALS * 0.05
