"""Trials in words and in JSON."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tailwave.model import Decision, MetricInfo, Restored, Trial
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tailwave.reports import to_json
from tailwave.reports.trial_terminal import render_trial
from tests.builders import Trace, kernel, steps
from tests.documents import checked
from tests.places import TRACES
from tests.reports.printed import printed
from tests.reports.trials import HARMFUL, KEPT, NO_GAIN, NOT_APPLICABLE, TRIAL, median, tail

DRIFTED = Restored(3000.0, 2410.0, 2510.0, agrees=False)
EMPTY = Trial(("prog",), "2026-11-29T15:00:00+00:00", 1.0, "", "")

REPORT = """\
cuda-graph: 2.46 ms -> 0.550 ms a step (-78%, 95% interval -79% to -76%); add:
    import tailwave
    step = tailwave.graph(step, *example_args)

  program   python decode.py --prompt 'two words'
  gpu       NVIDIA H200, driver 580.159
  metric    time of a step, by the program's marks and CUDA events
  rounds    6 completed, 312 s, 2026-11-29 15:00 UTC
  as it is  p50 2.46 ms, p99 2.60 ms, 150 samples a run
  null      p50 +0.1%, 95% interval -0.4% to +0.6%
  null      p99 +1.0%, 95% interval -3.0% to +5.0%
  restored  p50 2.47 ms, agrees (2.41 ms to 2.51 ms expected)

What was tried (95% intervals, for all of them together)
   cure                  decision        p50                     p99     at most
   cuda-graph            kept            -78% (-79% to -76%)     -75%    -82%
   module-loading:EAGER  no gain         +0.2% (-1.1% to +1.5%)  -       0%
   prefetch:64           harmful         -                       -       -
   mps-share:50          not applicable  -0.1%                   -       -

 1. KEPT  cuda-graph: the step as a CUDA graph
    The median is better beyond noise.
    p50:       2.46 ms -> 0.550 ms, -78%, 95% interval -79% to -76%
    p99:       2.60 ms -> 0.650 ms, -75%, 95% interval -78% to -71%
    mechanism: 40 replays of 1 graph.
    outputs:   within tolerance (logits differs by <0.1% of its largest value)

 2. NO GAIN  module-loading:EAGER: when kernels are loaded (EAGER)
    After 3 rounds its 95% interval does not reach a gain of 2%.
    p50:       2.46 ms -> 2.46 ms, +0.2%, 95% interval -1.1% to +1.5%
    mechanism: The driver's mode is EAGER.
    outputs:   equal

 3. HARMFUL  prefetch:64: workers of the DataLoader (64)
    With it the program fails: it exited with 1: MemoryError

 4. NOT APPLICABLE  mps-share:50: percent of the SMs under MPS (50)
    It did not take hold: no MPS server was seen.
    p50:       2.46 ms -> 2.46 ms, -0.1%, of one round

Notes
  - The power cap holds the clock of GPU 0 down: the figures are for this cap.

next: tailwave explain cuda-graph
"""


def test_the_whole_report() -> None:
    """What to add first; then what was measured, and what came of each cure."""
    assert printed(render_trial, TRIAL) == REPORT


def first(trial: Trial) -> str:
    """Return the first paragraph of a report, on one line."""
    return " ".join(printed(render_trial, trial).split("\n\n")[0].split())


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (
            replace(TRIAL, outcomes=(NO_GAIN, HARMFUL)),
            (
                "Keep the program as it is: none of the 2 cures is shown to help. "
                "Harmful: prefetch:64."
            ),
        ),
        (
            replace(TRIAL, outcomes=(NO_GAIN, NOT_APPLICABLE)),
            "Keep the program as it is: module-loading:EAGER is not shown to help.",
        ),
        (
            replace(TRIAL, outcomes=(NOT_APPLICABLE,)),
            "Nothing could be tried: none of the cures below can be applied here.",
        ),
        (
            EMPTY,
            (
                "Nothing could be tried: there is no diagnosis to choose by. Name cures with "
                "--cure (see --list)."
            ),
        ),
        (
            replace(TRIAL, outcomes=(NO_GAIN,), restored=DRIFTED),
            (
                "Nothing is proven, for the machine drifted during the trial: try again when "
                "nothing else runs here."
            ),
        ),
        (
            replace(TRIAL, outcomes=(NO_GAIN,), cut_short="It was interrupted."),
            "The trial ended early, so nothing is proven. It was interrupted.",
        ),
    ],
)
def test_the_first_sentence_where_nothing_is_kept(trial: Trial, words: str) -> None:
    """It says so, and why."""
    assert first(trial) == words


def test_a_diagnosis_that_finds_nothing() -> None:
    """A healthy program has nothing that a cure could cure."""
    healthy = steps(3, 100, lambda t: t.launch(0, 2, kernel("k", 3, 95)), Trace())
    trial = replace(EMPTY, diagnosis=diagnose([healthy], "x"))
    assert first(trial) == (
        "Nothing could be tried: the diagnosis finds nothing that a cure from outside of the "
        "program would cure."
    )
    assert as_json(trial)["diagnosis"]["source"]["path"] == "x"


def test_a_gain_of_the_slowest_steps_alone() -> None:
    """Where only the 99th percentile is better, that is the figure to take away."""
    calm = replace(KEPT, effects=(median(2460, 0.0, -0.01, 0.01), tail(8000, -0.5, -0.6, -0.4)))
    assert first(replace(TRIAL, outcomes=(calm,))).startswith(
        "cuda-graph: p99 8 ms -> 4 ms a step (-50%, 95% interval -60% to -40%); add:"
    )


def test_more_is_better() -> None:
    """A throughput has no unit that is known, and its gain is more of it."""
    faster = replace(KEPT, effects=(replace(median(100, 0.5, 0.4, 0.6), unit=""),))
    trial = replace(TRIAL, outcomes=(faster,), metric=MetricInfo("v", higher_is_better=True))
    assert first(trial).startswith("cuda-graph: 100 -> 150 (+50%, 95% interval +40% to +60%)")


def test_several_gains_do_not_add_up() -> None:
    """Each was tried alone, and that is said."""
    second = replace(KEPT, cure="compile:default", lines=("step = torch.compile(step)",))
    report = printed(render_trial, replace(TRIAL, outcomes=(KEPT, second)))
    assert "    step = torch.compile(step)\nEach was tried alone: their gains do not" in report


def test_a_drifted_machine_is_marked() -> None:
    """Beside the figure that shows it."""
    trial = replace(TRIAL, restored=DRIFTED)
    assert "p50 3 ms, DOES NOT AGREE: the machine drifted" in printed(render_trial, trial)


def next_command(trial: Trial) -> str:
    """Return the command that a report ends with."""
    return printed(render_trial, trial).rpartition("\n\nnext: ")[2].strip()


def test_the_report_ends_with_what_to_type_next() -> None:
    """What is kept is explained; else the worst finding, for it is still to be cured."""
    starved = diagnose(read(TRACES / "decode_small.eager.json.gz"), "x")
    worst = f"tailwave explain {starved.findings[0].code}"
    assert next_command(replace(TRIAL, diagnosis=starved)) == "tailwave explain cuda-graph"
    assert next_command(replace(TRIAL, outcomes=(NO_GAIN,), diagnosis=starved)) == worst
    assert next_command(replace(TRIAL, outcomes=(NO_GAIN,))) == "tailwave explain module-loading"
    assert next_command(EMPTY) == "tailwave fix --list"


def as_json(trial: Trial) -> dict[str, Any]:
    """Return the document, read back and held against its schema."""
    return checked(to_json(trial), "trial")


def test_the_document_keeps_to_its_schema() -> None:
    """With all of it, and with nothing; what is not known is null."""
    document = as_json(TRIAL)
    assert [outcome["decision"] for outcome in document["outcomes"]] == list(Decision)
    assert document["restored"] == {
        "median": 2470.0, "low": 2410.0, "high": 2510.0, "agrees": True,
    }  # fmt: skip
    nothing = as_json(EMPTY)
    unknown = ("gpu", "driver", "metric", "baseline", "restored", "diagnosis", "cut_short")
    assert [nothing[name] for name in unknown] == [None] * len(unknown)


def test_an_outcome_in_the_document() -> None:
    """Every figure, how the mechanism was seen, and the lines."""
    assert as_json(replace(TRIAL, outcomes=(NOT_APPLICABLE,)))["outcomes"] == [
        {
            "cure": "mps-share:50",
            "label": "percent of the SMs under MPS (50)",
            "decision": "not applicable",
            "why": "It did not take hold: no MPS server was seen.",
            "rounds": 1,
            "effects": [
                {
                    "quantile": "p50",
                    "before": 2460.0,
                    "after": 2457.54,
                    "unit": "us",
                    "change": -0.001,
                    "low": None,
                    "high": None,
                }
            ],
            "bound": None,
            "mechanism": {"seen": False, "detail": "no MPS server was seen."},
            "outputs": {"match": "not exposed", "detail": None},
            "lines": [],
        }
    ]


def test_words_that_are_no_utf8() -> None:
    """A command line may hold any bytes, and JSON may not."""
    assert as_json(replace(EMPTY, command=("prog", "\udcff")))["command"] == ["prog", "?"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5e-5, "5e-05"),
        (0.0123, "0.0123"),
        (0.25, "0.250"),
        (10.0, "10"),
        (2.5e8, "250,000,000"),
        (1e300, "1e+300"),
    ],
)
def test_a_printed_number_of_any_size_can_be_read(value: float, shown: str) -> None:
    """A program may print seconds or bytes, and nobody knows which."""
    effect = replace(median(1.0, -0.5, -0.6, -0.4), before=value, after=value, unit="")
    trial = replace(TRIAL, metric=MetricInfo("v"), outcomes=(replace(KEPT, effects=(effect,)),))
    assert first(trial).startswith(f"cuda-graph: {shown} -> {shown} (-50%")
