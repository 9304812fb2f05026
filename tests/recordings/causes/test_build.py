"""How rules word and weigh what they found."""

from __future__ import annotations

import pytest

from tailwave.model import Severity
from tailwave.recordings.causes.build import (
    counted,
    finding,
    gain,
    heaviest,
    operator_of,
    place_of,
    severity,
    share_saved,
    times,
)
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.timeline.prepare import prepare
from tests.builders import Trace, kernel, steps


def step_of_500() -> Forecast:
    """Forecast a step that takes 500 us, bound by the GPU."""
    body = kernel("k", 5, 505)
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


@pytest.mark.parametrize(
    ("after", "recoverable"), [(200.0, 300.0), (0.0, 500.0), (-10.0, 500.0), (497.5, 2.5)]
)
def test_a_finding_weighs_what_comes_back(after: float, recoverable: float) -> None:
    """Recoverable is now less after, never more than the step."""
    found = finding(
        step_of_500(), code="c", title="t", claim="", after_us=after, evidence=(), cures=()
    )
    assert found is not None
    assert (found.step_us_now, found.recoverable_us) == (500.0, recoverable)
    assert found.step_us_after == 500.0 - recoverable


@pytest.mark.parametrize("after", [498.0, 500.0, 900.0])
def test_a_trifle_is_no_finding(after: float) -> None:
    """Less than a two-hundredth of the step is not worth a sentence, nor is what makes it worse."""
    found = finding(
        step_of_500(), code="c", title="t", claim="", after_us=after, evidence=(), cures=()
    )
    assert found is None


def test_a_gain_names_both_times() -> None:
    """The step as it is and as it would be; a cure is never said to make it longer."""
    assert gain(step_of_500(), 250.0) == "500 us would be 250 us"
    assert gain(step_of_500(), 900.0) == "500 us would be 500 us"
    assert share_saved(step_of_500(), 250.0) == "50%"
    assert share_saved(step_of_500(), 900.0) == "0%"


def test_counts_are_worded() -> None:
    """Once, else so many times; one thing, else so many things."""
    assert (times(1), times(2)) == ("once", "2 times")
    assert counted(1, "launch", "launches") == "1 launch"
    assert counted(132, "launch", "launches") == "132 launches"


def test_the_heaviest_labels_come_first() -> None:
    """Weights are added by label, and the heaviest are kept with their counts."""
    found = heaviest(["a", "b", "a", "c", "d"], [1.0, 5.0, 2.0, 0.5, 0.1])
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
    assert operator_of(case, int(case.timeline.gpu.launch[0])) == "aten::linear"


def test_the_place_is_the_innermost_frame_of_the_users_code() -> None:
    """Frames of the framework are passed over; without stacks there is no place."""
    case = prepare(located().build()).case
    assert place_of(case, int(case.timeline.gpu.launch[0])) == "model.py(7): forward"
    bare = prepare(Trace().launch(20, 30, kernel("gemm", 35, 45)).build()).case
    assert place_of(bare, 0) == ""
