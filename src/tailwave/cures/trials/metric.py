"""What a program is measured by: its marked steps, a number that it prints, or its wall time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
import numpy as np

from tailwave.cures.trials.run import Run, Steps, finite_positive, plain
from tailwave.errors import UnreadableInputError, UsageError

# Fewer samples of a run are no series of steps.
LEAST_STEPS: Final = 8
# The first steps load modules, tune kernels and fill caches: so many are left out, or this share.
_WARM_UP_STEPS: Final = 3
_WARM_UP_SHARE: Final = 4
# With fewer samples their 99th percentile is but the worst one.
_TAIL_SAMPLES: Final = 100


class Figures(msgspec.Struct, frozen=True):
    """A run's metric: the median, the tail where there are samples enough, and how many there are.

    The tail is what one sample in a hundred is worse than.
    """

    median: float
    tail: float | None
    samples: int


class Metric(Protocol):
    """One way to measure a run."""

    unit: str
    higher_is_better: bool

    def words(self) -> str:
        """Say what is measured."""

    def samples(self, run: Run, /) -> Sequence[float]:
        """Return the samples of a run; raises UnreadableInputError where it has none."""


def figures(metric: Metric, run: Run) -> Figures:
    """Reduce a run to its figures. Raises UnreadableInputError where there is nothing positive."""
    samples = settled(metric.samples(run))
    wrong = next((sample for sample in samples if not finite_positive(sample)), None)
    if wrong is not None:
        raise UnreadableInputError(
            f"the metric ({metric.words()}) gave {wrong:g}, and only finite numbers above 0 can be "
            "compared by their ratio: choose another with --metric."
        )
    tail = None
    if len(samples) >= _TAIL_SAMPLES:
        tail = float(np.percentile(samples, 1 if metric.higher_is_better else 99))
    return Figures(float(np.median(samples)), tail, len(samples))


def settled(samples: Sequence[float]) -> Sequence[float]:
    """Leave out the warm-up: of 8 samples or more the first quarter, and at least 3."""
    if len(samples) < LEAST_STEPS:
        return samples
    return samples[max(_WARM_UP_STEPS, len(samples) // _WARM_UP_SHARE) :]


class StepTime:
    """The time of the steps that the program marks with ``tailwave.step()``."""

    unit = "us"
    higher_is_better = False

    def __init__(self, clock: str) -> None:
        """Say whose clock tells the steps: "gpu" or "host"."""
        self._clock = clock

    def words(self) -> str:
        """Say what is measured."""
        clock = "CUDA events" if self._clock == "gpu" else "the host's clock"
        return f"time of a step, by the program's marks and {clock}"

    def samples(self, run: Run, /) -> Sequence[float]:
        """Return the steps of the process that marked most; of equals, the slowest counts."""
        steps = marked(run)
        if len(steps.us) < LEAST_STEPS:
            raise UnreadableInputError(
                f"the program marked {len(steps.us)} steps in one run, and at least {LEAST_STEPS} "
                "in another: let it make as many in each."
            )
        return steps.us


class PrintedNumber:
    """A number that the program prints."""

    def __init__(self, pattern: str, *, higher_is_better: bool) -> None:
        """Search by a regular expression of one group. Raises UsageError for any other."""
        try:
            self._pattern = re.compile(pattern, re.MULTILINE)
        except re.error as error:
            raise UsageError(f"--metric is no regular expression: {error}.") from error
        if self._pattern.groups != 1:
            raise UsageError(
                "--metric must have one group, around the number: 'step: ([0-9.]+) ms'."
            )
        self.unit = ""
        self.higher_is_better = higher_is_better

    def words(self) -> str:
        """Say what is measured."""
        better = "more" if self.higher_is_better else "less"
        return f"what {self._pattern.pattern!r} finds in the output ({better} is better)"

    def samples(self, run: Run, /) -> Sequence[float]:
        """Return every number that it finds, in the order of standard output, then error."""
        found = self._pattern.findall(plain(run.output))
        if not found:
            raise UnreadableInputError(
                f"--metric {self._pattern.pattern!r} finds nothing in what the program printed; "
                f"its last line was: {run.last_line or '(nothing)'}"
            )
        return [self._number(text) for text in found]

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError as error:
            raise UnreadableInputError(
                f"--metric {self._pattern.pattern!r} finds what is no number: {text!r} (digits "
                "alone and a point, without a unit or commas)."
            ) from error


class WallTime:
    """How long the program runs, start-up included."""

    unit = "s"
    higher_is_better = False

    def words(self) -> str:
        """Say what is measured."""
        return "wall time of the whole program, start-up included"

    def samples(self, run: Run, /) -> Sequence[float]:
        """Return the one time of a run."""
        return (run.seconds,)


def marked(run: Run) -> Steps:
    """Return the steps of the process that marked most; of equals, of the slowest."""
    each = [process.steps for process in run.processes]
    return max(each, key=lambda steps: (len(steps.us), sum(steps.us)), default=Steps())


def default_metric(run: Run) -> Metric:
    """Choose by a first run: its marked steps where it marks enough, else wall time."""
    steps = marked(run)
    return StepTime(steps.clock) if len(steps.us) >= LEAST_STEPS else WallTime()
