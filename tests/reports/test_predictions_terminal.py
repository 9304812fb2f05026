"""What-ifs on a terminal, word for word."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from tailwave.model import Predictions, StepTime
from tailwave.reports.predictions_terminal import render_predictions
from tests.reports.predictions import EACH_ALONE, NOW, ONE, prediction

EACH_ALONE_REPORT = """\
no-sync + cuda-graph would bring the step from 3.64 ms to 0.455 ms (88% less).

  now  3.64 ms a step (2.19 ms to 6.04 ms), likely without the profiler;
       recorded 7.56 ms

Each alone
  cuda-graph        1.20 ms  saves 2.44 ms, 67%
                             a graph cannot hold cudaStreamSynchronize (30 a
                             step): each cuts it in two
  no-sync           2.90 ms  saves 0.740 ms, 20%
  no-interference   4.00 ms  costs 0.364 ms, 10%
  no change: no-input-stall, no-wave-tail

The best combination
  no-sync + cuda-graph
    now 3.64 ms -> after 0.455 ms (saves 3.19 ms, 88%)

Notes
  - 1 of 3 steps left out: the recording begins or ends within them.
"""

ONE_REPORT = """\
sm-count=64 + cuda-graph would bring the step from 3.64 ms to 0.455 ms (88%
less).

  now  3.64 ms a step (2.19 ms to 6.04 ms), likely without the profiler;
       recorded 7.56 ms

What if
  sm-count=64 + cuda-graph
    now 3.64 ms -> after 0.455 ms (saves 3.19 ms, 88%)
    kernels: 9 by waves
    a graph cannot hold cudaStreamSynchronize (30 a step): each cuts it in two
"""


def _printed(predictions: Predictions, width: int = 80, *, color: str | None = None) -> str:
    file = io.StringIO()
    terminal = color is not None
    console = Console(
        file=file,
        width=width,
        highlight=False,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        legacy_windows=False,
    )
    render_predictions(predictions, console)
    return file.getvalue()


def test_each_alone_word_for_word() -> None:
    """The most helpful first, what changes nothing in one line, and the best combination."""
    assert _printed(EACH_ALONE) == EACH_ALONE_REPORT


def test_one_combination_word_for_word() -> None:
    """What was asked for together is answered together, with all that it assumed."""
    assert _printed(ONE) == ONE_REPORT


@pytest.mark.parametrize("width", [50, 80, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    """Lines are 80 columns wide at most, and fewer where the terminal has fewer."""
    lines = _printed(EACH_ALONE, width).splitlines()
    assert max(map(len, lines)) <= min(width, 80)


@pytest.mark.parametrize("width", [20, 40])
def test_a_narrow_terminal_loses_nothing(width: int) -> None:
    """However narrow the terminal, every character is printed."""
    printed = sorted(_printed(EACH_ALONE, width).replace("\n", "").replace(" ", ""))
    assert printed == sorted(EACH_ALONE_REPORT.replace("\n", "").replace(" ", ""))


def test_colours_only_repeat_the_words() -> None:
    """Taken out, the colours leave the report as it is in a file."""
    coloured = _printed(EACH_ALONE, color="standard")
    assert coloured != EACH_ALONE_REPORT
    plain = Text.from_ansi(coloured).plain
    assert plain.rstrip("\n") == EACH_ALONE_REPORT.rstrip("\n")


def test_the_report_is_ascii() -> None:
    """Nothing in it needs more than ASCII, whatever the terminal's encoding."""
    assert _printed(EACH_ALONE).isascii()


def test_a_recording_without_the_profilers_cost_is_now_as_recorded() -> None:
    """Where the likely step is the recorded one, there is no range and no doubt to print."""
    now = StepTime(us=NOW, low_us=NOW, high_us=NOW, by="recorded", recorded_us=NOW)
    printed = _printed(msgspec.structs.replace(EACH_ALONE, now=now))
    assert "  now  3.64 ms a step, as recorded\n" in printed


def test_a_condition_stands_before_the_notes() -> None:
    """On what an answer depends is said at once below it."""
    answers = (
        prediction("no-sync", after=3_100.0),
        prediction("fuse", after=3_010.0, notes=("51 launches fewer",), condition="if they may"),
    )
    printed = _printed(msgspec.structs.replace(EACH_ALONE, what_ifs=answers, combined=None))
    assert (
        "  fuse      3.01 ms  saves 0.630 ms, 17%\n"
        "                     if they may\n"
        "                     51 launches fewer\n"
    ) in printed


def test_a_condition_is_in_the_headline() -> None:
    """Asked for one change, the first sentence says on what its gain depends."""
    answers = (prediction("fuse", after=3_010.0, condition="if they may"),)
    headline = _printed(msgspec.structs.replace(ONE, what_ifs=answers)).partition("\n\n")[0]
    assert headline == "fuse would bring the step from 3.64 ms to 3.01 ms (17% less), if they may."


def test_nothing_to_gain_is_said() -> None:
    """Where no change helps by half a percent, the headline says so."""
    answers = (
        prediction("no-input-stall", after=NOW - 10),
        prediction("no-wave-tail", after=NOW + 400),
    )
    idle = msgspec.structs.replace(EACH_ALONE, what_ifs=answers, combined=None)
    headline = _printed(idle).splitlines()[0]
    assert headline == "None of these makes the step of 3.64 ms faster by half a percent."


def test_what_costs_time_heads_the_report_with_its_cost() -> None:
    """Asked for a smaller chip, the report says what the step takes then."""
    answers = (prediction("sm-count=1", after=107_000.0),)
    headline = _printed(msgspec.structs.replace(ONE, what_ifs=answers)).splitlines()[:2]
    assert headline[0] == "With sm-count=1 the step takes 107 ms: costs 103 ms, 2,840%."


def test_a_combination_of_one_is_not_repeated() -> None:
    """Where one change alone is the best there is, it is not printed twice."""
    alone = msgspec.structs.replace(EACH_ALONE, combined=prediction("cuda-graph", after=1_200.0))
    printed = _printed(alone)
    assert "The best combination" not in printed
    assert printed.startswith("cuda-graph would bring the step from 3.64 ms to 1.20 ms (67% less).")


def test_all_without_effect_prints_one_line() -> None:
    """Where no change has an effect, all are named in one line."""
    answers = (prediction("no-input-stall", after=NOW), prediction("no-wave-tail", after=NOW))
    printed = _printed(msgspec.structs.replace(EACH_ALONE, what_ifs=answers, combined=None))
    assert "Each alone\n  no change: no-input-stall, no-wave-tail\n" in printed
