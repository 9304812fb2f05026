"""What a whole diagnosis never gets wrong, of whatever recording it is made.

A division that does not add up, a finding that the what-ifs know nothing of, and a gain that no
cure can bring are wrong whatever the recording holds; each is a check of its own here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from tailwave.model import Diagnosis, Prediction, StepsSummary, StepTime, Timeline
from tailwave.recordings.causes.build import Added
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.whatif import each_alone
from tailwave.recordings.timeline.case import Case

# Shares of a division in which kernels run.
KERNEL_TIME = {"kernels", "small-grid", "wave-tail", "stream-interference", "collectives"}
# Findings whose cures change the kernels; pages of managed memory move while kernels wait in them.
CHANGES_KERNELS = {
    "small-grid",
    "wave-tail",
    "stream-interference",
    "unfused",
    "looped-optimizer",
    "partial-warp",
    "page-migration",
}
# Less than this share of a step is no finding.
WORTH_SAYING = 0.005
# What rounding to whole nanoseconds adds up to in a step (us), and its share of a long one.
_ROUNDING_US = 0.01
_ROUNDING = 1e-6
# Kernel times are as recorded; the step counts without the recorder, whose cost on the GPU may have
# been taken off: at most so much of it.
_RECORDER = 0.02


class Whole(msgspec.Struct, frozen=True):
    """A diagnosis, and the what-ifs of the rank that it shows; without steps there are none."""

    diagnosis: Diagnosis
    what_ifs: tuple[Prediction, ...]
    sound: bool

    @property
    def steps(self) -> StepsSummary:
        """The steps; a recording without them is skipped."""
        if self.diagnosis.steps is None:
            pytest.skip("no steps in it")
        return self.diagnosis.steps

    @property
    def now(self) -> StepTime:
        """The step that gains count from; a recording without steps is skipped."""
        if self.diagnosis.now is None:
            pytest.skip("no steps in it")
        return self.diagnosis.now


def whole(timelines: Sequence[Timeline], path: str = "any") -> Whole:
    """Diagnose a recording, and ask every what-if of the rank that is shown."""
    seen: list[Forecast] = []

    def noted(_: Case, forecast: Forecast) -> Added:
        seen.append(forecast)
        return Added()

    diagnosis = diagnose(timelines, path, noted)
    shown = next((one for one in seen if one.now is diagnosis.now), None)
    if shown is None:
        return Whole(diagnosis, (), sound=False)
    return Whole(diagnosis, tuple(each_alone(shown)), shown.sound)


def division_adds_up(seen: Whole) -> None:
    """Each microsecond of the mean step is in exactly one share."""
    total = sum(share.us for share in seen.diagnosis.division)
    assert total == pytest.approx(seen.steps.mean_us, rel=_ROUNDING, abs=_ROUNDING_US)
    assert min((share.us for share in seen.diagnosis.division), default=0.0) >= 0


def busy_within_the_step(seen: Whole) -> None:
    """The GPU is busy for no longer than the step."""
    steps = seen.steps
    assert 0 <= steps.gpu_busy_us <= steps.mean_us * (1 + _ROUNDING) + _ROUNDING_US


def first_finding_is_the_best_what_if(seen: Whole) -> None:
    """The first finding without a condition is the best what-if without one, with its gain."""
    now = seen.now
    best = max((item.recoverable_us for item in seen.what_ifs if not item.condition), default=0.0)
    if seen.diagnosis.withheld or not seen.sound or best < WORTH_SAYING * now.us:
        return
    gains = [
        finding.recoverable_us
        for finding in seen.diagnosis.findings
        if not finding.condition and finding.recoverable_us is not None
    ]
    listed = [(item.names, item.recoverable_us) for item in seen.what_ifs[:3]]
    assert gains, listed
    assert gains[0] == pytest.approx(best, rel=_ROUNDING, abs=_ROUNDING_US), listed


def conditions_stand_last(seen: Whole) -> None:
    """What has a condition comes after what has none, the greatest gain first in each."""
    what_ifs = [(item.condition != "", -item.recoverable_us) for item in seen.what_ifs]
    assert what_ifs == sorted(what_ifs)
    findings = [
        (2, -finding.share)
        if finding.recoverable_us is None
        else (1 if finding.condition else 0, -finding.recoverable_us)
        for finding in seen.diagnosis.findings
    ]
    assert findings == sorted(findings)


def kernels_run_as_long(seen: Whole) -> None:
    """What does not change kernels brings no more than the time in which none runs."""
    kernels = sum(share.us for share in seen.diagnosis.division if share.what in KERNEL_TIME)
    most = seen.now.us - kernels * (1 - _RECORDER) + _ROUNDING_US
    over = {
        finding.code: (finding.recoverable_us, most)
        for finding in seen.diagnosis.findings
        if finding.code not in CHANGES_KERNELS and (finding.recoverable_us or 0.0) > most
    }
    assert over == {}


def nothing_below_zero(seen: Whole) -> None:
    """No step takes less than no time, and no finding costs time."""
    after = [item.step_us_after for item in seen.what_ifs]
    after += [
        finding.step_us_after
        for finding in seen.diagnosis.findings
        if finding.step_us_after is not None
    ]
    assert min(after, default=0.0) >= 0
    assert all(0 <= finding.share <= 1 for finding in seen.diagnosis.findings)
    assert all((finding.recoverable_us or 0.0) >= 0 for finding in seen.diagnosis.findings)


CHECKS = (
    division_adds_up,
    busy_within_the_step,
    first_finding_is_the_best_what_if,
    conditions_stand_last,
    kernels_run_as_long,
    nothing_below_zero,
)
