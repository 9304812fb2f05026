"""Recordings of an H200 whose causes are known, because they were planted: the verdicts on them.

``truth.json`` says of each recording what comes first (null where nothing is wrong), what must
not, and what the step took as one CUDA graph where that was measured. The constants of rules and
replay were looked at on the recordings under ``tests/data``; those under ``benchmarks/results``
are kept for validation, so what they miss stands in ``MISSES`` and is not tuned away.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tailwave.model import Diagnosis
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tests.places import TESTS

FOLDERS = (TESTS / "data/traces", TESTS.parent / "benchmarks/results/recordings")
# A cause that must not come first may still cost a little; more than this share is a wrong verdict.
WRONG_ABOVE = 0.40
# How near the replay comes to the measured time of the step as one CUDA graph.
GRAPH_WITHIN = 0.10

PARTITION = "the trace says that the GPU has 132 SMs, and not how many the partition has"
LAYERS = "the kernels of a layer repeat within the step, and their period is taken for the step's"
# What is known to be missed: test -> recording -> why.
MISSES = {
    "steps": {"mode.bare": LAYERS},
    "graph": {"mode.bare": LAYERS},
    "top": {
        "sync_mask.nonzero": "two causes of nearly equal worth, and the other one comes first",
        "loader.workers_8": "the loader's own wait is taken for stretched host work",
        "preprocess.crowded": "no step is without contention to be compared with",
        "sms032.wave132": PARTITION,
        "sms064.wave132": PARTITION,
        "sms096.wave132": PARTITION,
    },
}


class Truth(msgspec.Struct, frozen=True):
    """What is known of one recording."""

    file: str
    steps: int
    top: str | None = None
    not_top: tuple[str, ...] = ()
    graphed_ms_per_step: float | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """The recording's name without its ending."""
        return self.file.removesuffix(".json.gz")


def truths() -> list[Truth]:
    """Read what is known of every recording."""
    return [
        msgspec.structs.replace(truth, folder=str(folder))
        for folder in FOLDERS
        for truth in msgspec.json.decode((folder / "truth.json").read_bytes(), type=list[Truth])
    ]


def named(found: Iterable[Truth], test: str = "") -> list[object]:
    """Give each recording its name in a test, and expect the known misses to be missed."""
    misses = MISSES.get(test, {})
    return [
        pytest.param(
            truth,
            id=truth.name,
            marks=[pytest.mark.xfail(reason=misses[truth.name])] if truth.name in misses else [],
        )
        for truth in found
    ]


TRUTHS = truths()
PLANTED = [truth for truth in TRUTHS if truth.top]
GRAPHED = [truth for truth in TRUTHS if truth.graphed_ms_per_step and truth.top == "launch-bound"]


@cache
def diagnosis_of(truth: Truth) -> Diagnosis:
    """Diagnose a recording, once for all tests."""
    return diagnose(read(Path(truth.folder) / truth.file), truth.file)


def recorded_us(diagnosis: Diagnosis) -> float:
    """Give the mean step as it was recorded."""
    assert diagnosis.steps is not None
    return diagnosis.steps.mean_us


each_recording = pytest.mark.parametrize("truth", named(TRUTHS))


@pytest.mark.parametrize("truth", named(TRUTHS, "steps"))
def test_the_recording_has_its_steps(truth: Truth) -> None:
    """Every step that was recorded is found."""
    steps = diagnosis_of(truth).steps
    assert steps is not None
    assert steps.count == truth.steps


@pytest.mark.parametrize("truth", named(PLANTED, "top"))
def test_the_planted_cause_comes_first(truth: Truth) -> None:
    """What was planted is the finding that costs the most."""
    assert [finding.code for finding in diagnosis_of(truth).findings[:1]] == [truth.top]


@each_recording
def test_what_is_not_wrong_is_not_blamed(truth: Truth) -> None:
    """A cause that is known to be absent is never first with a good part of the step."""
    diagnosis = diagnosis_of(truth)
    blamed = [
        (finding.code, finding.recoverable_us)
        for finding in diagnosis.findings[:1]
        if finding.code in truth.not_top
        and finding.recoverable_us > WRONG_ABOVE * recorded_us(diagnosis)
    ]
    assert blamed == []


@pytest.mark.parametrize("truth", named(GRAPHED, "graph"))
def test_the_graphed_step_is_predicted(truth: Truth) -> None:
    """The time after the cure is the time that was measured after it."""
    (finding,) = (f for f in diagnosis_of(truth).findings if f.code == "launch-bound")
    assert truth.graphed_ms_per_step is not None
    measured_us = truth.graphed_ms_per_step * 1e3
    assert finding.step_us_after == pytest.approx(measured_us, rel=GRAPH_WITHIN)


@each_recording
def test_the_shares_of_a_step_add_up(truth: Truth) -> None:
    """Every microsecond of the mean step is in exactly one share."""
    diagnosis = diagnosis_of(truth)
    total = sum(share.us for share in diagnosis.division)
    assert total == pytest.approx(recorded_us(diagnosis), rel=1e-9)
