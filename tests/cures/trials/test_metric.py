"""What a program is measured by."""

from __future__ import annotations

import math

import pytest

from tailwave.cures.trials.metric import (
    Figures,
    PrintedNumber,
    StepTime,
    WallTime,
    default_metric,
    figures,
    settled,
)
from tailwave.cures.trials.run import Run
from tailwave.errors import UnreadableInputError, UsageError
from tests.cures.trials.script import steps_run


@pytest.mark.parametrize(
    ("count", "left_out"), [(1, 0), (7, 0), (8, 3), (12, 3), (16, 4), (100, 25)]
)
def test_the_warm_up_is_left_out(count: int, left_out: int) -> None:
    """Of 8 samples or more the first quarter, and at least 3."""
    assert list(settled(range(count))) == list(range(left_out, count))


def test_the_figures_of_steps() -> None:
    """The median of what follows the warm-up; no tail of so few."""
    run = steps_run([1000.0, 500.0, 300.0, *[10.0, 20.0, 30.0, 40.0, 50.0]])
    assert figures(StepTime("gpu"), run) == Figures(30.0, None, 5)


def test_the_tail_needs_a_hundred_samples() -> None:
    """It is the 99th percentile, interpolated; where more is better, the 1st."""
    steps = [0.5] * 33 + [float(n) for n in range(1, 101)]
    assert figures(StepTime("gpu"), steps_run(steps)).tail == pytest.approx(99.01)
    assert figures(StepTime("gpu"), steps_run(steps[1:-1])).tail is None
    run = Run(0, 1.0, output="".join(f"v {step}\n" for step in steps))
    most = figures(PrintedNumber("v (.*)", higher_is_better=True), run)
    assert most.tail == pytest.approx(1.99)


def test_the_process_that_marks_most_counts() -> None:
    """A launcher marks nothing; of two ranks that mark as often, the slower one is the step."""
    each = [{"steps": {"us": [us] * count}} for us, count in ((0.0, 0), (10.0, 8), (12.0, 8))]
    assert StepTime("gpu").samples(Run(0, 1.0, reports=tuple(each))) == (12.0,) * 8


def test_steps_that_are_missing_in_a_run() -> None:
    """A program that marks its steps in one run only cannot be compared."""
    with pytest.raises(UnreadableInputError, match="marked 2 steps in one run"):
        figures(StepTime("gpu"), steps_run([1.0, 2.0]))


def test_a_printed_number() -> None:
    """Wherever it stands, as often as it stands there; unit and direction are the user's."""
    run = Run(0, 1.0, output="warm 7\nstep 1.5e1 ms\nstep 25 ms\n")
    metric = PrintedNumber(r"^step (\S+) ms$", higher_is_better=False)
    assert list(metric.samples(run)) == [15.0, 25.0]
    assert figures(metric, run) == Figures(20.0, None, 2)
    assert metric.words() == r"what '^step (\\S+) ms$' finds in the output (less is better)"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("(a", "no regular expression"), ("a", "one group"), ("(a)(b)", "one group")],
)
def test_a_pattern_that_cannot_be_used(pattern: str, words: str) -> None:
    """It is refused before the program runs."""
    with pytest.raises(UsageError, match=words):
        PrintedNumber(pattern, higher_is_better=False)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", r"finds nothing in what the program printed; its last line was: \(nothing\)"),
        ("v x", "finds what is no number: 'x'"),
        ("v 0", "gave 0, and only finite numbers above 0"),
        ("v -1", "gave -1, and only"),
        ("v nan", "gave nan, and only"),
        ("v inf", "gave inf, and only"),
        ("v 3\nv inf", "gave inf, and only"),
        ("v 3\nv nan", "gave nan, and only"),
        ("v 1,234.5", r"no number: '1,234\.5' \(digits alone and a point"),
        ("v 3\nv 4 ms", "finds what is no number: '4 ms'"),
    ],
)
def test_an_output_that_cannot_be_compared(output: str, words: str) -> None:
    """A ratio needs numbers above 0."""
    with pytest.raises(UnreadableInputError, match=words):
        figures(PrintedNumber("v (.*)", higher_is_better=False), Run(0, 1.0, output=output))


def test_wall_time_is_one_figure() -> None:
    """Of a whole run."""
    assert figures(WallTime(), Run(0, 2.5)) == Figures(2.5, None, 1)


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        (8, "time of a step, by the program's marks and CUDA events"),
        (7, "wall time of the whole program, start-up included"),
    ],
)
def test_the_default(marks: int, words: str) -> None:
    """Marked steps, where there are 8; else wall time."""
    assert default_metric(steps_run([1.0] * marks)).words() == words


def test_the_hosts_clock_is_said() -> None:
    """Steps without CUDA are told by the host."""
    report = {"steps": {"clock": "host", "us": [1.0] * 8}}
    metric = default_metric(Run(0, 1.0, reports=(report,)))
    assert metric.words() == "time of a step, by the program's marks and the host's clock"
    assert math.isclose(figures(metric, Run(0, 1.0, reports=(report,))).median, 1.0)


def test_the_wrong_number_is_the_one_named() -> None:
    """It is the sample that cannot be compared, not the least."""
    metric = PrintedNumber("v (.*)", higher_is_better=False)
    with pytest.raises(UnreadableInputError, match="gave inf"):
        figures(metric, Run(0, 1.0, output="v 3\nv inf\nv 2"))


@pytest.mark.parametrize(
    "output",
    [
        "0%\rstep 3 ms\rstep 4 ms",  # a progress bar
        "step 3 ms\r\nstep 4 ms\r\n",
        "step \x1b[1;32m3\x1b[0m ms\n\x1b[2K\x1b[1Gstep 4\x1b[K ms",
        "\x1b]0;title\x07step 3 ms\n\x1b]8;;http://a\x1b\\step\x1b(B 4 ms",
    ],
)
def test_what_only_a_terminal_understands_is_not_searched(output: str) -> None:
    """Colours stand inside of what is looked for, and a bar writes over its line."""
    metric = PrintedNumber("^step ([0-9.]+) ms$", higher_is_better=False)
    assert metric.samples(Run(0, 1.0, output=output)) == [3.0, 4.0]
