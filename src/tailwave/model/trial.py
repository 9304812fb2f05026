"""Cures tried on a program, and what came of each."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.diagnosis import Diagnosis


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

    ``before`` and ``after`` are geometric means over the rounds, in ``unit``. ``change`` is after
    over before, less 1, so a time of which it is -0.5 is halved; ``low`` to ``high`` is its 95%
    confidence interval, of all of a trial's candidates and looks together. It is None of one round.
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


class Outcome(msgspec.Struct, frozen=True):
    """What became of one cure in a trial.

    ``cure`` is its name, with ``:parameter`` where it has one. ``bound`` is the share of the
    metric that the diagnosis says a cure can save at most, stated before the cure was applied;
    None where no diagnosis says it. ``seen`` says whether its mechanism was at work, None where
    nothing tells, and ``mechanism`` how one knows. ``lines`` are what a user adds to keep it.
    """

    cure: str
    label: str
    decision: Decision
    why: str
    effects: tuple[Effect, ...] = ()
    rounds: int = 0
    bound: float | None = None
    seen: bool | None = None
    mechanism: str = ""
    outputs: OutputMatch = OutputMatch.NOT_EXPOSED
    outputs_detail: str = ""
    lines: tuple[str, ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """The program as it is, measured once more after all rounds.

    It agrees with the runs before from ``low`` to ``high``, all in the metric's unit.
    """

    value: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Tell whether the machine still is what it was."""
        return self.low <= self.value <= self.high


class Baseline(msgspec.Struct, frozen=True):
    """The program as it is: the metric over all rounds, and how many samples a run gave.

    ``tail`` is None where a run gives too few samples for it.
    """

    median: float
    tail: float | None
    samples: int


class Trial(msgspec.Struct, frozen=True):
    """One trial of cures on a program, whole.

    ``metric`` says in words what was measured, in ``unit``; ``rounds`` how many were completed:
    fewer than were allowed where all was decided before.
    ``null`` is a second unchanged run in each round, treated as a cure is: what is seen there is
    noise. ``cut_short`` is the sentence that says why the trial ended early, "" when it did not.
    """

    schema: int
    tool_version: str
    command: tuple[str, ...]
    started: str  # ISO 8601, UTC
    seconds: float
    gpu: str
    driver: str
    metric: str = ""
    unit: str = ""
    higher_is_better: bool = False
    rounds: int = 0
    baseline: Baseline | None = None
    null: tuple[Effect, ...] = ()
    restored: Restored | None = None
    outcomes: tuple[Outcome, ...] = ()
    diagnosis: Diagnosis | None = None
    cut_short: str = ""
    notes: tuple[str, ...] = ()
