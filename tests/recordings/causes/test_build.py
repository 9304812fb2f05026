"""How rules word and weigh what they found."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from tailwave.model import Evidence, Finding, Severity
from tailwave.recordings.causes.build import (
    Worth,
    counted,
    finding,
    heaviest,
    operators,
    place_of,
    rank,
    severity,
    taken_alone,
    times,
    worth,
    worth_of,
)
from tailwave.recordings.replay.change import Change, Changed
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.prepare import prepare
from tests.builders import Trace, kernel, steps


def step_of_500() -> Forecast:
    """Forecast a step that takes 500 us, bound by the GPU from its first moment on."""
    body = kernel("k", 0, 500)
    timeline = steps(3, 20, lambda trace: trace.launch(0, 4, body), gpu=500)
    return forecast(prepare(timeline).case)


@pytest.mark.parametrize(
    ("share", "word"),
    [
        (1.0, Severity.CRITICAL),
        (0.30, Severity.CRITICAL),
        (0.299, Severity.MAJOR),
        (0.10, Severity.MAJOR),
        (0.099, Severity.MINOR),
        (0.03, Severity.MINOR),
        (0.029, Severity.INFO),
        (0.0, Severity.INFO),
    ],
)
def test_severity_words_the_share_of_the_step(share: float, word: Severity) -> None:
    """Three tenths of a step are critical, a tenth is major, three hundredths are minor."""
    assert severity(share) == word


def shorter(us: int) -> Change:
    """Make every GPU row last so long (us)."""

    def change(case: Case, program: Program) -> Changed:
        del case
        duration = np.where(program.row_step >= 0, us * 1_000, program.duration)
        return Changed(msgspec.structs.replace(program, duration=duration), ("assumed",))

    return change


def weighed(brings: Worth) -> Finding | None:
    """Make a finding of what a cause costs."""
    return finding(brings, code="c", title="t", claim="", evidence=(), cures=())


@pytest.mark.parametrize(("after", "recoverable"), [(200, 300.0), (490, 10.0)])
def test_a_finding_weighs_what_comes_back(after: int, recoverable: float) -> None:
    """Recoverable is now less after, and its share of the step stands beside it."""
    found = weighed(worth_of(step_of_500(), shorter(after), 0.0))
    assert found is not None
    assert (found.step_us_now, found.recoverable_us) == (500.0, recoverable)
    assert found.step_us_after == after
    assert found.share == recoverable / 500
    assert found.evidence == (Evidence("assumed"),)


@pytest.mark.parametrize("after", [498, 500, 900])
def test_a_trifle_is_no_finding(after: int) -> None:
    """Less than a two-hundredth of the step is not worth a sentence, nor is what makes it worse."""
    assert weighed(worth_of(step_of_500(), shorter(after), 0.0)) is None


def test_a_gain_names_both_times() -> None:
    """The step as it is and as it would be; a cure is never said to make it longer."""
    half, longer = (worth_of(step_of_500(), shorter(us), 0.0) for us in (250, 900))
    assert (half.gain, half.part) == ("500 us would be 250 us", "50%")
    assert (longer.gain, longer.part) == ("500 us would be 500 us", "0%")


def test_a_cause_without_a_change_weighs_by_its_time() -> None:
    """What no replay can mend has no gain, and stands by its share of the step."""
    found = weighed(taken_alone(step_of_500(), 125.0))
    assert found is not None
    assert (found.step_us_after, found.recoverable_us, found.share) == (None, None, 0.25)


def test_a_replay_that_misses_the_recording_predicts_nothing() -> None:
    """Then a cause is weighed by the time that it takes."""
    doubtful = replace(step_of_500(), identity_error=0.2)
    assert worth(doubtful, "cuda-graph", 50.0) == taken_alone(doubtful, 50.0)
    assert worth_of(doubtful, shorter(10), 50.0) == taken_alone(doubtful, 50.0)


def test_findings_are_ordered_by_gain_then_condition_then_share() -> None:
    """A gain comes before one with a condition, and that before a share without a gain."""
    sure, larger = Worth(100.0, 90.0, 0.1), Worth(100.0, 70.0, 0.3)
    conditional, taken = Worth(100.0, 10.0, 0.9, (), "if"), Worth(100.0, None, 0.5)
    found = [weighed(one) for one in (taken, conditional, sure, larger)]
    order = sorted((one for one in found if one), key=rank)
    assert [one.share for one in order] == [0.3, 0.1, 0.9, 0.5]


def test_counts_are_worded() -> None:
    """Once, else so many times; one thing, else so many things."""
    assert (times(1), times(2), times(0.25)) == ("once", "2 times", "0.25 times")
    assert counted(1, "launch", "launches") == "1 launch"
    assert counted(132, "launch", "launches") == "132 launches"


def test_the_heaviest_labels_come_first() -> None:
    """Weights are added by label, and the heaviest are kept with their counts."""
    weights = np.array([1.0, 5.0, 2.0, 0.5, 0.1])
    found = heaviest(np.array([0, 1, 0, 2, 3]), "abcd".__getitem__, weights)
    assert found == [("b", 5.0, 1), ("a", 3.0, 2), ("c", 0.5, 1)]


def located() -> Trace:
    """Call one kernel from a model's forward, through the framework."""
    trace = Trace().frame("train.py(3): main", 0, 90).frame("model.py(7): forward", 5, 80)
    trace.frame("torch/nn/modules/linear.py(125): forward", 8, 70)
    trace.op("aten::linear", 10, 60).op("aten::addmm", 12, 50)
    return trace.launch(20, 30, kernel("gemm", 35, 45))


def test_the_outermost_operator_is_what_the_user_called() -> None:
    """Of nested operators the outermost one stands in the user's code."""
    case = prepare(located().build()).case
    (code,) = operators(case, case.timeline.gpu.launch[:1])
    assert case.timeline.names[code] == "aten::linear"


def test_the_place_is_the_innermost_frame_of_the_users_code() -> None:
    """Frames of the framework are passed over; without stacks there is no place."""
    case = prepare(located().build()).case
    assert place_of(case, int(case.timeline.gpu.launch[0])) == "model.py(7): forward"
    bare = prepare(Trace().launch(20, 30, kernel("gemm", 35, 45)).build()).case
    assert place_of(bare, 0) == ""
