"""Cures tried on a program, and what came of each."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.diagnosis import Diagnosis
from tailwave.model.printable import Printable
from tailwave.model.values import Count, TextOrUnknown


class Decision(enum.StrEnum):
    """What a trial decided about a cure."""

    KEPT = "kept"
    NO_GAIN = "no gain"
    HARMFUL = "harmful"
    NOT_APPLICABLE = "not applicable"


class Quantile(enum.StrEnum):
    """Which part of a run's samples a figure stands for."""

    MEDIAN = "p50"
    TAIL = "p99"  # of what is better small; of what is better large, the 1st percentile


class Effect(msgspec.Struct, frozen=True):
    """One quantile of the metric with the program as it is, and with something changed.

    Attributes:
        quantile: The median, or the 99th percentile (of what is better large, the 1st).
        before: The program as it is: the geometric mean over the rounds.
        after: The changed program, likewise.
        unit: Of both.
        change: After over before, less 1: a time of which it is -0.5 is halved.
        low: Of the 95% confidence interval of the change, of all of a trial's candidates and looks
            together; null of one round.
        high: Of the same.
    """

    quantile: Quantile
    before: float
    after: float
    unit: str
    change: float
    low: float | None
    high: float | None


class OutputMatch(enum.StrEnum):
    """How the outputs that a program exposes compare with those of the program as it is."""

    EQUAL = "equal"
    CLOSE = "within tolerance"
    DIFFER = "differ"
    NOT_COMPARABLE = "not comparable"  # they differ from run to run of the program as it is
    NOT_EXPOSED = "not exposed"


class Mechanism(msgspec.Struct, frozen=True):
    """Whether a cure did what it is meant to do.

    Attributes:
        seen: Whether it was at work; null where nothing tells.
        detail: How one knows.
    """

    seen: bool | None = None
    detail: TextOrUnknown = ""


class Outputs(msgspec.Struct, frozen=True):
    """What the program put out under a cure.

    Attributes:
        match: How that compares with the program as it is.
        detail: In words.
    """

    match: OutputMatch = OutputMatch.NOT_EXPOSED
    detail: TextOrUnknown = ""


class Outcome(msgspec.Struct, frozen=True):
    """What became of one cure in a trial.

    Attributes:
        cure: NAME or NAME:PARAMETER, as --cure takes it.
        label: What it does.
        decision: What was decided.
        why: For which reason.
        effects: On the metric's quantiles.
        rounds: In which it ran.
        bound: The share of the metric that the diagnosis says can be saved at most, stated before
            the cure was applied; null where no diagnosis says it.
        mechanism: Whether it was at work.
        outputs: Whether the program's outputs are still the same.
        lines: Add them to the program to keep the cure.
    """

    cure: str
    label: str
    decision: Decision
    why: str
    effects: tuple[Effect, ...] = ()
    rounds: Count = 0
    bound: float | None = None
    mechanism: Mechanism = Mechanism()
    outputs: Outputs = Outputs()
    lines: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """The program as it is, measured once more after all rounds.

    Attributes:
        median: In the metric's unit.
        low: It agrees with the runs before from here.
        high: It agrees with the runs before up to here.
        agrees: Whether the machine still is what it was.
    """

    median: float
    low: float
    high: float
    agrees: bool


class Baseline(msgspec.Struct, frozen=True):
    """The program as it is, in the metric's unit: geometric means over the rounds.

    Attributes:
        median: The median.
        tail: The 99th percentile (of what is better large, the 1st); null where a run gives too
            few samples for it.
        samples: Of a run, without warm-up.
    """

    median: float
    tail: float | None
    samples: Count


class MetricInfo(msgspec.Struct, frozen=True):
    """What a trial measures a program by.

    Attributes:
        what: In words.
        unit: us of steps, s of wall time, null of a number that the program prints.
        higher_is_better: Whether it is a rate.
    """

    what: str
    unit: TextOrUnknown = ""
    higher_is_better: bool = False


class Trial(Printable, frozen=True):
    """A trial of cures on a program: each against the program as it is, in turns.

    Attributes:
        command: The program, and its arguments.
        started: ISO 8601, UTC.
        seconds: That it took.
        gpu: The names of the GPUs.
        driver: Its version.
        metric: What was measured; null where the trial ended before that was known.
        rounds: That were completed: fewer than were allowed where all was decided before.
        baseline: The program as it is; null where no round was completed.
        null: A second unchanged run in each round, treated as a cure is: what is seen there is
            noise.
        restored: The program as it is, once more at the end.
        outcomes: One a cure, the kept ones first.
        diagnosis: Of the profile of the first run; null without one.
        cut_short: Why the trial ended early; null when it did not.
        notes: What else is to be known.
    """

    command: tuple[str, ...]
    started: str
    seconds: float
    gpu: TextOrUnknown
    driver: TextOrUnknown
    metric: MetricInfo | None = None
    rounds: Count = 0
    baseline: Baseline | None = None
    null: tuple[Effect, ...] = ()
    restored: Restored | None = None
    outcomes: tuple[Outcome, ...] = ()
    diagnosis: Diagnosis | None = None
    cut_short: TextOrUnknown = ""
    notes: tuple[str, ...] = ()
