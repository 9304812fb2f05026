"""Recordings of an H200 whose causes are known, because they were planted: the verdicts on them.

``truth.json`` says of each recording what comes first (null where nothing is wrong), what must
not, and what the step took as one CUDA graph where that was measured.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
import pytest

from tailwave.model import Diagnosis
from tailwave.readers import read
from tailwave.rules.diagnose import diagnose

TRACES = Path(__file__).parent / "data" / "traces"
# A cause that must not come first may still cost a little; more than this share is a wrong verdict.
WRONG_ABOVE = 0.40
# How near the replay comes to the measured time of the step as one CUDA graph.
GRAPH_WITHIN = 0.10


class Truth(msgspec.Struct, frozen=True):
    """What is known of one recording."""

    file: str
    steps: int
    top: str | None = None
    not_top: tuple[str, ...] = ()
    graphed_ms_per_step: float | None = None


TRUTHS = msgspec.json.decode((TRACES / "truth.json").read_bytes(), type=list[Truth])
GRAPHED = [truth for truth in TRUTHS if truth.graphed_ms_per_step is not None and truth.top]


@cache
def diagnosis_of(file: str) -> Diagnosis:
    """Diagnose a recording, once for all tests."""
    return diagnose(read(TRACES / file), file)


def recorded_us(diagnosis: Diagnosis) -> float:
    """Give the median step as it was recorded."""
    assert diagnosis.steps is not None
    return diagnosis.steps.median_us


each_recording = pytest.mark.parametrize("truth", TRUTHS, ids=[truth.file for truth in TRUTHS])


@each_recording
def test_the_recording_has_its_steps(truth: Truth) -> None:
    """Every step that was recorded is found."""
    steps = diagnosis_of(truth.file).steps
    assert steps is not None
    assert (steps.count, steps.by) == (truth.steps, "ProfilerStep")


@pytest.mark.parametrize(
    "truth", [t for t in TRUTHS if t.top], ids=[t.file for t in TRUTHS if t.top]
)
def test_the_planted_cause_comes_first(truth: Truth) -> None:
    """What was planted is the finding that costs the most."""
    findings = diagnosis_of(truth.file).findings
    assert findings[0].code == truth.top


@each_recording
def test_what_is_not_wrong_is_not_blamed(truth: Truth) -> None:
    """A cause that is known to be absent is never first with a good part of the step."""
    diagnosis = diagnosis_of(truth.file)
    blamed = [
        (finding.code, finding.recoverable_us)
        for finding in diagnosis.findings[:1]
        if finding.code in truth.not_top
        and finding.recoverable_us > WRONG_ABOVE * recorded_us(diagnosis)
    ]
    assert blamed == []


@pytest.mark.parametrize("truth", GRAPHED, ids=[truth.file for truth in GRAPHED])
def test_the_graphed_step_is_predicted(truth: Truth) -> None:
    """The time after the cure is the time that was measured after it."""
    (finding,) = (f for f in diagnosis_of(truth.file).findings if f.code == "launch-bound")
    assert truth.graphed_ms_per_step is not None
    measured_us = truth.graphed_ms_per_step * 1e3
    assert finding.step_us_after == pytest.approx(measured_us, rel=GRAPH_WITHIN)


@each_recording
def test_the_shares_of_a_step_add_up(truth: Truth) -> None:
    """Every microsecond of the typical step is in exactly one share."""
    diagnosis = diagnosis_of(truth.file)
    total = sum(share.us for share in diagnosis.division)
    assert total == pytest.approx(recorded_us(diagnosis), rel=1e-9)
