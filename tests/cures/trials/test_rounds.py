"""The rounds of a trial, with a program whose times are computed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from tailwave.cures.trials.arm import Arm, order
from tailwave.cures.trials.concluding import baseline, held_back, outcomes, restored
from tailwave.cures.trials.preparing import UNCHANGED, Request
from tailwave.cures.trials.run import Run
from tailwave.errors import UnavailableError
from tailwave.model import Decision, OutputMatch, Quantile
from tests.cures.trials.script import (
    HEALTHY_US,
    Scripted,
    Silent,
    candidate,
    nothing,
    rounds_of,
    steps_run,
)


def steady(factors: dict[str, float]) -> Scripted:
    """Return a program whose steps take 1 ms, times the factor of its cure."""
    return Scripted(lambda name, _: steps_run([HEALTHY_US * factors.get(name, 1.0)] * 20))


def test_each_arm_has_every_place_once() -> None:
    """Over as many rounds as there are arms; the next as many go backwards."""
    arms = [Arm(name, UNCHANGED) for name in "ANB"]
    assert ["".join(arm.name for arm in order(arms, n)) for n in range(7)] == [
        "ANB", "NBA", "BAN", "BNA", "ABN", "NAB", "ANB",
    ]  # fmt: skip


def scattered(logs: dict[str, Sequence[float]]) -> Scripted:
    """Return a program whose n-th run with a cure takes 1 ms times e to the n-th power given."""
    calls: Counter[str] = Counter()

    def script(name: str, _: int) -> Run:
        power = logs[name][calls[name]] if name in logs else 0.0
        calls[name] += 1
        return steps_run([HEALTHY_US * math.exp(power)] * 20)

    return Scripted(script)


def test_a_plain_gain_is_kept_after_three_rounds_and_the_program_measured_again() -> None:
    """Three of six rounds of as it is, null control and cure, then as it is once more."""
    program = steady({"half": 0.5})
    rounds = rounds_of(program, candidate("half"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert outcome.decision is Decision.KEPT
    assert outcome.effects[0].change == pytest.approx(-0.5)
    assert outcome.lines == ("export CURE=half",)
    assert (outcome.rounds, rounds.completed) == (3, 3)
    assert Counter(program.names) == {"": 7, "half": 3}
    assert program.names[-1] == ""
    last = restored(rounds)
    assert last is not None
    assert last.agrees


# Of six rounds t at 1 - 0.025/3 is 10.886 after three, 6.232 after four: half the interval is then
# 0.629 and 0.254, so that these gains of 0.4 are proven by the fourth.
PROVEN_BY_FOUR = (-0.3, -0.4, -0.5, -0.4)
UNDECIDED = (-0.3, 0.1, 0.3, -0.3, -0.1, 0.2)


def test_what_is_undecided_goes_on() -> None:
    """Until a look after a round, the fourth of six, proves it."""
    rounds = rounds_of(scattered({"late": PROVEN_BY_FOUR}), candidate("late"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.decision, outcome.rounds, rounds.completed) == (Decision.KEPT, 4, 4)


def test_what_is_never_decided_has_all_rounds() -> None:
    """And no gain; one that was decided on meanwhile is not run any more."""
    program = scattered({"maybe": UNDECIDED, "half": [math.log(0.5)] * 6})
    rounds = rounds_of(program, candidate("maybe"), candidate("half"))
    rounds.run(nothing)
    kept, undecided = outcomes(rounds)
    assert (kept.cure, kept.decision, kept.rounds) == ("half", Decision.KEPT, 3)
    assert (undecided.decision, undecided.rounds) == (Decision.NO_GAIN, 6)
    assert rounds.completed == 6
    assert Counter(program.names) == {"": 13, "half": 3, "maybe": 6}
    assert restored(rounds) is not None


def test_what_is_kept_must_exceed_the_noise_of_all_rounds() -> None:
    """A gain that was plain after three is none where unchanged runs came to differ by more."""
    calls: Counter[str] = Counter()

    def script(name: str, _: int) -> Run:
        power = {"half": math.log(0.5), "maybe": UNDECIDED[calls["maybe"] % 6]}.get(name, 0.0)
        calls[name] += 1
        restless = not name and calls[""] > 6 and calls[""] % 2
        return steps_run([HEALTHY_US * math.exp(2.0 if restless else power)] * 20)

    both = rounds_of(Scripted(script), candidate("half"), candidate("maybe"))
    both.run(nothing)
    half = next(outcome for outcome in outcomes(both) if outcome.cure == "half")
    assert (half.decision, half.rounds, both.completed) == (Decision.NO_GAIN, 3, 6)
    assert half.why.startswith("No change beyond noise")


def test_a_candidate_that_hangs_is_ended() -> None:
    """After five times the slowest run without it and two minutes, for what compilers take."""
    seconds = iter((3.0, 2.0, 4.0, 2.0, 2.0, 2.0))

    def script(name: str, _: int) -> Run:
        return steps_run([HEALTHY_US * (0.5 if name else 1)] * 20, seconds=next(seconds, 1.0))

    program = Scripted(script)
    rounds_of(program, candidate("half")).run(nothing)
    limits = list(zip(program.names, program.limits_s, strict=True))
    assert limits[:6] == [
        ("", None), ("", None), ("half", 5 * 3.0 + 120),
        ("", None), ("half", 5 * 3.0 + 120), ("", None),
    ]  # fmt: skip


def test_a_time_limit_of_the_users_holds_for_all() -> None:
    """Whatever the program takes."""
    program = steady({"half": 0.5})
    rounds_of(program, candidate("half"), request=Request(("prog",), {}, timeout_s=7.0)).run(
        nothing
    )
    assert set(program.limits_s) == {7.0}


def test_a_tail_that_is_worse_ends_a_trial_too() -> None:
    """One whose median may still gain is not dropped, and yet it is decided on: harmful."""
    calls: Counter[str] = Counter()

    def script(name: str, _: int) -> Run:
        level = 1000.0 * (math.exp((-0.1, 0.0, 0.1)[calls[name] % 3]) if name else 1.0)
        calls[name] += 1
        return steps_run([*[level] * 196, *[1500.0 * (2 if name else 1)] * 4])

    rounds = rounds_of(Scripted(script), candidate("jitter"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert [effect.quantile for effect in outcome.effects] == [Quantile.MEDIAN, Quantile.TAIL]
    assert (outcome.decision, rounds.completed) == (Decision.HARMFUL, 3)
    assert outcome.why == "The 99th percentile is worse beyond noise."


@pytest.mark.parametrize(("number", "t"), [(3, 4.302652730), (4, 6.205346817), (6, 10.88586662)])
def test_an_early_look_has_a_wide_interval(number: int, t: float) -> None:
    """After three rounds: 95% where there are no more, 97.5% of four, 99.17% of six."""
    rounds = rounds_of(
        scattered({"late": (-0.6, -0.7, -0.8)}),
        candidate("late"),
        request=Request(("prog",), {}, rounds=number),
    )
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.decision, rounds.completed) == (Decision.KEPT, 3)
    high = outcome.effects[0].high
    assert high == pytest.approx(math.expm1(-0.7 + t * 0.1 / math.sqrt(3)))


def test_what_was_dropped_was_looked_at_then() -> None:
    """Its interval stays what it was, though the trial goes on to a look that may err more."""
    # Half its interval is 0.054 after three of six rounds; after the last it would be 0.031.
    worse = (0.044, 0.05, 0.056)
    program = scattered({"bad": worse, "maybe": UNDECIDED})
    rounds = rounds_of(program, candidate("bad"), candidate("maybe"))
    rounds.run(nothing)
    outcome = next(outcome for outcome in outcomes(rounds) if outcome.cure == "bad")
    assert (outcome.rounds, rounds.completed) == (3, 6)
    half = 15.44347901 * 0.006 / math.sqrt(3)  # t at 1 - 0.025/3/2
    assert outcome.effects[0].high == pytest.approx(math.expm1(0.05 + half))
    assert outcome.decision is Decision.NO_GAIN


def test_two_rounds_decide_nothing() -> None:
    """However plain they are: a trial that ends there has found nothing out."""
    said = iter([""] * 8)
    rounds = rounds_of(steady({"bad": 2.0}), candidate("bad"))
    rounds.run(lambda: next(said, "Another process uses the GPU."))
    (outcome,) = outcomes(rounds)
    assert (rounds.completed, outcome.rounds) == (2, 2)
    assert outcome.effects[0].change == pytest.approx(1.0)
    assert (outcome.decision, outcome.why) == (
        Decision.NO_GAIN,
        "Before 3 rounds nothing is decided.",
    )


def test_what_cannot_gain_is_dropped_after_three_rounds() -> None:
    """Its fellow goes on; when nobody is left, the rounds are over."""
    program = scattered({"late": PROVEN_BY_FOUR})
    rounds = rounds_of(
        program, candidate("nothing"), candidate("late"), request=Request(("prog",), {}, rounds=4)
    )
    rounds.run(nothing)
    kept, dropped = outcomes(rounds)
    assert (kept.cure, kept.rounds) == ("late", 4)
    assert (dropped.decision, dropped.rounds) == (Decision.NO_GAIN, 3)
    assert dropped.why == "After 3 rounds its 95% interval does not reach a gain of 2%."
    assert dropped.lines == ()
    alone = rounds_of(program, candidate("nothing"))
    alone.run(nothing)
    assert alone.completed == 3


def test_a_harmful_cure_is_called_so() -> None:
    """Slower beyond noise, and dropped as soon as that is clear."""
    rounds = rounds_of(steady({"bad": 1.3}), candidate("bad"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.decision, outcome.rounds) == (Decision.HARMFUL, 3)
    assert outcome.why == "The median is worse beyond noise."


def test_a_cure_that_breaks_the_program_is_harmful() -> None:
    """It is not run again, and its last words are the reason."""

    def script(name: str, _: int) -> Run:
        return Run(1, 1.0, last_line="out of memory") if name else steps_run([1000.0] * 20)

    program = Scripted(script)
    rounds = rounds_of(program, candidate("breaks"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert outcome.decision is Decision.HARMFUL
    assert outcome.why == "With it the program fails: it exited with 1: out of memory"
    assert program.names.count("breaks") == 1


def test_a_cure_under_which_the_metric_is_gone_is_harmful() -> None:
    """A program that marks no steps any more cannot be compared."""
    program = Scripted(lambda name, _: steps_run([1000.0] * (2 if name else 20)))
    rounds = rounds_of(program, candidate("mute"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert outcome.decision is Decision.HARMFUL
    assert "marked 2 steps" in outcome.why


def test_a_cure_that_does_not_take_hold_is_not_applicable() -> None:
    """However much faster the run was: it is dropped after one."""
    program = steady({"idle": 0.5})
    rounds = rounds_of(program, candidate("idle", works=False))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.decision, outcome.mechanism.seen) == (Decision.NOT_APPLICABLE, False)
    assert outcome.why == "It did not take hold: idle was not seen"
    assert program.names.count("idle") == 1


def test_where_nothing_reports_the_mechanism_the_effect_speaks() -> None:
    """A program that is not in Python can be helped too."""
    rounds = rounds_of(steady({"half": 0.5}), candidate("half", works=None))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.decision, outcome.mechanism.seen) == (Decision.KEPT, None)


def exposing(values: dict[str, list[float]]) -> Scripted:
    """Return a program that is fast with a cure, and exposes what is given for each name."""
    calls: Counter[str] = Counter()

    def script(name: str, _: int) -> Run:
        value = values[name][calls[name] % len(values[name])]
        calls[name] += 1
        output = {"count": 1, "values": [value], "shape": [], "sha256": str(value)}
        return steps_run([500.0 if name else 1000.0] * 20, {"loss": output})

    return Scripted(script)


@pytest.mark.parametrize(
    ("plain", "changed", "match", "decision"),
    [
        ([1.0], [1.0], OutputMatch.EQUAL, Decision.KEPT),
        ([1.0], [1.0005], OutputMatch.CLOSE, Decision.KEPT),
        ([1.0], [1.1], OutputMatch.DIFFER, Decision.HARMFUL),
        ([1.0], [1.0, 1.0, 1.1], OutputMatch.DIFFER, Decision.HARMFUL),  # in one round of them
        ([1.0, 2.0, 3.0], [5.0], OutputMatch.NOT_COMPARABLE, Decision.KEPT),
    ],
)
def test_other_outputs_are_never_kept(
    plain: list[float], changed: list[float], match: OutputMatch, decision: Decision
) -> None:
    """Unless the unchanged program differs from itself: then nothing can be said of them."""
    rounds = rounds_of(exposing({"": plain, "fast": changed}), candidate("fast"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert (outcome.outputs.match, outcome.decision) == (match, decision)


def test_a_program_that_fails_unchanged_ends_the_trial() -> None:
    """Nothing is kept of what was better so far."""

    def script(name: str, index: int) -> Run:
        if index >= 12 and not name:
            return Run(-11, 1.0)
        maybe = 1000.0 + 300.0 * (index % 2)
        return steps_run([{"half": 500.0, "maybe": maybe}.get(name, 1000.0)] * 20)

    rounds = rounds_of(Scripted(script), candidate("half"), candidate("maybe"))
    rounds.run(nothing)
    outcome = next(outcome for outcome in outcomes(rounds) if outcome.cure == "half")
    assert rounds.cut_short == "In round 4 the unchanged program failed: it was ended by SIGSEGV"
    assert (rounds.completed, restored(rounds)) == (3, None)
    assert outcome.decision is Decision.NO_GAIN
    assert outcome.why == "It looks better so far, but the trial ended before that was proven."


def test_what_the_watch_sees_ends_the_trial() -> None:
    """Another process on the GPU makes every further figure worthless."""
    said = iter(["", "", "", "", "Another process uses the GPU."])
    rounds = rounds_of(steady({"half": 0.5}), candidate("half"))
    rounds.run(lambda: next(said))
    assert (rounds.completed, rounds.cut_short) == (1, "Another process uses the GPU.")
    assert [outcome.decision for outcome in outcomes(rounds)] == [Decision.NO_GAIN]


def test_a_machine_that_drifted_keeps_nothing() -> None:
    """The program as it is must be in the end what it was in the rounds."""

    def script(name: str, index: int) -> Run:
        slow = 1.2 if index >= 9 else 1.0
        return steps_run([slow * (500.0 if name else 1000.0)] * 20)

    program = Scripted(script)
    rounds = rounds_of(program, candidate("half"))
    rounds.run(nothing)
    (outcome,) = outcomes(rounds)
    assert rounds.completed == 3
    last = restored(rounds)
    assert last is not None
    assert not last.agrees
    assert outcome.decision is Decision.NO_GAIN
    assert "the machine drifted" in outcome.why
    assert program.names[-2:] == ["", ""]  # asked twice, since one run may be off


def test_one_odd_last_run_is_not_a_drift() -> None:
    """It is measured once more, and that counts."""
    program = Scripted(
        lambda name, index: steps_run([(500.0 if name else 1000.0) * (2 if index == 9 else 1)] * 20)
    )
    rounds = rounds_of(program, candidate("half"))
    rounds.run(nothing)
    assert program.names[9:] == ["", ""]
    assert [outcome.decision for outcome in outcomes(rounds)] == [Decision.KEPT]


def test_the_baseline_and_the_null_control() -> None:
    """The program as it is: its level, and how many steps a run gave after the warm-up."""
    rounds = rounds_of(steady({"half": 0.5}), candidate("half"))
    rounds.run(nothing)
    level = baseline(rounds)
    assert level is not None
    assert level.median == pytest.approx(HEALTHY_US)
    assert (level.tail, level.samples) == (None, 15)
    (null,) = rounds.null_effects()
    assert null.change == 0.0
    assert null.high == 0.0


def test_intervals_hold_for_all_candidates_together() -> None:
    """Beside another candidate each has 97.5%: of 2 degrees of freedom t is 6.205, not 4.303."""
    logs = (-0.1, 0.0, 0.1)
    program = scattered({"a": logs, "b": logs})
    rounds = rounds_of(
        program, candidate("a"), candidate("b"), request=Request(("prog",), {}, rounds=3)
    )
    rounds.run(nothing)
    for outcome in outcomes(rounds):
        low = outcome.effects[0].low
        assert low == pytest.approx(math.expm1(-6.205346817 * 0.1 / math.sqrt(3)))


def test_a_trial_that_was_cut_short_keeps_nothing() -> None:
    """Even where the last run was made."""
    rounds = rounds_of(steady({"half": 0.5}), candidate("half"))
    rounds.run(nothing)
    rounds.cut_short = "It was interrupted."
    assert [outcome.decision for outcome in outcomes(rounds)] == [Decision.NO_GAIN]


def test_a_reserve_is_not_run_while_what_it_stands_in_for_works() -> None:
    """It is left in reserve, and the user told how to try it."""
    program = steady({"graph": 0.5, "slow": 0.4})
    first, second = candidate("graph", codes=("x",)), candidate("slow", codes=("x",))
    rounds = rounds_of(program, first, reserves=(second,))
    rounds.run(nothing)
    assert "slow" not in program.names
    outcome = held_back(rounds.reserves[0])
    assert outcome.decision is Decision.NOT_APPLICABLE
    assert outcome.why.endswith("To try it: --cure slow.")


def test_a_reserve_is_called_up_when_what_it_stands_in_for_does_not_take_hold() -> None:
    """From the next round on, and it is decided on by the rounds that it had."""
    program = steady({"slow": 0.4})
    idle, slow = candidate("graph", works=False, codes=("x",)), candidate("slow", codes=("x",))
    other = candidate("other", codes=("y",))
    rounds = rounds_of(program, idle, reserves=(slow, other))
    rounds.run(nothing)
    found = {outcome.cure: outcome for outcome in outcomes(rounds)}
    assert found["graph"].decision is Decision.NOT_APPLICABLE
    assert (found["slow"].decision, found["slow"].rounds) == (Decision.KEPT, rounds.completed - 1)
    assert [reserve.spec for reserve in rounds.reserves] == ["other"]


def test_a_reserve_is_called_up_when_what_it_stands_in_for_breaks_the_program() -> None:
    """A cure that fails answers its finding no better than one that does nothing."""

    def script(name: str, _: int) -> Run:
        return Run(1, 1.0) if name == "graph" else steps_run([400.0 if name else 1000.0] * 20)

    broken, slow = candidate("graph", codes=("x",)), candidate("slow", codes=("x",))
    rounds = rounds_of(Scripted(script), broken, reserves=(slow,))
    rounds.run(nothing)
    found = {outcome.cure: outcome.decision for outcome in outcomes(rounds)}
    assert found == {"slow": Decision.KEPT, "graph": Decision.HARMFUL}
    assert rounds.reserves == []


def unable(when: Callable[[str, int], bool]) -> Scripted:
    """Return a program that cannot be run at these times, and is fast with a cure."""

    def script(name: str, index: int) -> Run:
        if when(name, index):
            raise UnavailableError("MPS did not start.")
        return steps_run([500.0 if name else 1000.0] * 20)

    return Scripted(script)


def test_a_candidate_that_cannot_be_run_is_not_applicable() -> None:
    """It is left out, and its fellow goes on."""
    program = unable(lambda name, _: name == "cannot")
    rounds = rounds_of(program, candidate("cannot"), candidate("half"))
    rounds.run(nothing)
    kept, left_out = outcomes(rounds)
    assert (kept.cure, kept.decision) == ("half", Decision.KEPT)
    assert (left_out.cure, left_out.decision) == ("cannot", Decision.NOT_APPLICABLE)
    assert left_out.why == "It could not be applied: MPS did not start."
    assert program.names.count("cannot") == 1
    assert rounds.cut_short == ""


def test_an_unchanged_program_that_cannot_be_run_ends_the_trial() -> None:
    """Without it there is nothing to compare with."""
    rounds = rounds_of(unable(lambda name, index: not name and index > 3), candidate("half"))
    rounds.run(nothing)
    assert rounds.cut_short == "In round 2 the program could not run: MPS did not start."
    assert (rounds.completed, restored(rounds)) == (1, None)


def test_how_long_a_trial_still_takes_at_most() -> None:
    """The runs that are left of all rounds and the last one, as long as those so far were."""
    seconds = iter((3.0, 5.0))

    def script(name: str, _: int) -> Run:
        return steps_run([500.0 if name else 1000.0] * 20, seconds=next(seconds, 1.0))

    observer = Silent()
    rounds_of(Scripted(script), candidate("half"), observer=observer).run(nothing)
    # The run before the rounds took a second; of the nine of three rounds two took 3 and 5.
    assert observer.heard[:4] == [
        "round 1 of 6: as it is (0/19)",
        "round 1 of 6: null control (1/19)",
        "round 1 of 6: half (2/19)",
        "round 2 of 6: null control (3/19)",
    ]
    assert observer.left[:4] == [19 * 1.0, 18 * 2.0, 17 * 3.0, 16 * 2.5]
    assert (observer.heard[-1], observer.left[-1]) == ("as it is, once more (0/1)", 1.6)


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (Run(3, 1.0, last_line="no memory"), "it exited with 3: no memory"),
        (steps_run([1.0, 2.0]), "the program marked 2 steps in one run"),
        (UnavailableError("Its supervisor is gone."), "Its supervisor is gone."),
    ],
)
def test_a_last_run_that_cannot_be_measured_ends_the_trial(
    last: Run | UnavailableError, why: str
) -> None:
    """What was learnt before is kept, and none of it is proven."""

    def script(name: str, index: int) -> Run:
        if index < 9:
            return steps_run([500.0 if name else 1000.0] * 20)
        if isinstance(last, Run):
            return last
        raise last

    rounds = rounds_of(Scripted(script), candidate("half"))
    rounds.run(nothing)
    assert rounds.cut_short.startswith(f"Run again at the end, the unchanged program failed: {why}")
    assert [outcome.decision for outcome in outcomes(rounds)] == [Decision.NO_GAIN]
