"""The terminal report, word for word."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from tailwave.model import Diagnosis, Evidence, Severity, StepKernel
from tailwave.reports.terminal import render_diagnosis
from tests.reports.samples import (
    HEALTHY_STEP,
    LAUNCH_BOUND,
    LAUNCH_BOUND_STEP,
    NO_STEPS,
    QUEUED,
    SMALL_GRID,
    SOURCE,
)

COSTLIEST = """
The costliest of what the GPU runs in a step
    812 us    70%  matrix product, 24 times:
                   nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT
    300 us    26%  1 time: insert
   46.2 us   4.0%  copy, 0.500 times: Memcpy HtoD (Pageable -> Device)
"""

LAUNCH_BOUND_REPORT = """\
The GPU waits for launches 94% of each step; the step's 1312 launches as one
CUDA graph would bring 7.56 ms to 471 us. Try cuda-graph or compile. Counted
from 7.56 ms a step, as recorded.

  recording  decode.json.gz (kineto, rank 0, 4,605 events)
  device     NVIDIA H200, 132 SMs
  steps      3 by ProfilerStep, mean 7.56 ms, GPU busy 0.405 ms (5.4%); median
             7.55 ms, p90 7.62 ms, p99 7.63 ms, max 7.64 ms

Where the time of a step goes
  idle, waiting for launches   6.91 ms    91%  ██████████████████████████████▏
  kernels at work               403 us   5.3%  █▊
  idle after the host waited    245 us   3.2%  █
  only copies                  2.10 us  <0.1%

The costliest of what the GPU runs in a step
    310 us    76%  matrix product, 656 times: gemv

What costs time, and what its cure is worth (each alone: savings do not add up)
 1. CRITICAL  The host issues work more slowly than the GPU runs it
    now 7.56 ms -> after 0.471 ms (saves 7.09 ms a step, 94%)
         5.4%  GPU busy
        1,312  launches in the step
      5.60 us  host time per launch
               the host never waits for the GPU between the first and the last
               launch
    try:  cuda-graph, compile
    more: tailwave explain launch-bound

 2. MINOR     The host stops to wait for the GPU
    The host waits for the GPU 2 times a step, and the GPU then idles 3% of it;
    without the waits 7.56 ms would be 7.32 ms.
    now 7.56 ms -> after 7.32 ms (saves 0.245 ms a step, 3.2%)
       245 us  idle after cudaStreamSynchronize in aten::item
    try:  remove-sync
    more: tailwave explain host-sync

 3. INFO      small-grid: a cure saves 12 us a step, 0.2%, if their work can be
              split, at best

Notes
  - Recording adds about 2 us to each operator: without it, a step is shorter.
"""

HEALTHY_REPORT = """\
No cause was found that costs more than half a percent of a step. The time goes
to: kernels at work (97%); switching from kernel to kernel (2.8%).

  recording  decode.json.gz (kineto, rank 0, 4,605 events)
  device     NVIDIA H200, 132 SMs
  steps      3 by kernel period, mean 472 us, GPU busy 468 us (>99%); median 472
             us, p90 473 us, p99 473 us, max 473 us

Where the time of a step goes
  kernels at work                    459 us    97%  ███████████████████████████▏
  switching from kernel to kernel   13.4 us   2.8%  ▊
"""

NO_STEPS_REPORT = """\
This recording does not tell where the time of a step goes.

  recording  load.json (kineto, rank 3, 12 events)
  device     unknown

Why
  - The recording holds no GPU work.
"""


def rendered(diagnosis: Diagnosis, width: int = 80, encoding: str = "utf-8") -> str:
    """Return the report as it would be written to a file of this encoding."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    render_diagnosis(diagnosis, Console(file=file, width=width))
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("diagnosis", "expected"),
    [
        (LAUNCH_BOUND_STEP, LAUNCH_BOUND_REPORT),
        (HEALTHY_STEP, HEALTHY_REPORT),
        (NO_STEPS, NO_STEPS_REPORT),
    ],
    ids=["launch-bound", "healthy", "no-steps"],
)
def test_the_whole_report(diagnosis: Diagnosis, expected: str) -> None:
    """A report opens with what to do, then shows why: 80 columns, no colour in a file."""
    assert rendered(diagnosis) == expected


def test_only_small_findings() -> None:
    """Where no cure is worth much, the report says so before it lists them."""
    diagnosis = replace(LAUNCH_BOUND_STEP, findings=(SMALL_GRID,), notes=())
    report = rendered(diagnosis)
    assert report.startswith(
        "No cause costs much here; the first: small-grid, a cure saves 12 us a step,\n"
        "0.2%, if their work can be split, at best. The time goes to: idle, waiting for\n"
        "launches (91%); kernels at work (5.3%); idle after the host waited (3.2%).\n"
    )
    assert report.endswith(
        "What costs time, and what its cure is worth\n"
        " 1. INFO      small-grid: a cure saves 12 us a step, 0.2%, if their work can be\n"
        "              split, at best\n"
    )


def test_what_only_takes_time_heads_the_report() -> None:
    """A finding without a gain says what it takes; its claim is said once, wherever it stands."""
    diagnosis = replace(LAUNCH_BOUND_STEP, findings=(SMALL_GRID, QUEUED), notes=())
    report = rendered(diagnosis)
    assert report.startswith(
        "The GPU idles 20% of each step while work that was launched does not begin; what\n"
        "kept it is not recorded. Counted from 7.56 ms a step, as recorded.\n"
    )
    assert report.count("what\nkept it is not recorded") == 1
    assert report.endswith(
        " 2. MAJOR     Work is launched and does not begin\n"
        "    takes 20% of a step; what a cure brings is not known\n"
        "    more: tailwave explain queued\n"
    )


def test_a_small_finding_without_a_gain() -> None:
    """In its one line, too, it says what it takes."""
    small = replace(QUEUED, severity=Severity.INFO, share=0.02)
    report = rendered(replace(LAUNCH_BOUND_STEP, findings=(small,), notes=()))
    assert report.endswith(" 1. INFO      queued: takes 2.0% of a step\n")


def test_the_condition_of_a_gain() -> None:
    """Stands behind the gain."""
    finding = replace(LAUNCH_BOUND, condition="if shapes stay as they are")
    assert (
        "    now 7.56 ms -> after 0.471 ms (saves 7.09 ms a step, 94%), if shapes stay as\n"
        "    they are\n"
    ) in rendered(replace(LAUNCH_BOUND_STEP, findings=(finding,)))


def test_a_single_step_has_no_spread() -> None:
    """Of one step only its time is said, and of many that not all of them were replayed."""
    assert LAUNCH_BOUND_STEP.steps is not None
    one = replace(LAUNCH_BOUND_STEP.steps, count=1, replayed=1)
    many = replace(LAUNCH_BOUND_STEP.steps, count=900, replayed=40)
    assert "  steps      1 by ProfilerStep, mean 7.56 ms, GPU busy 0.405 ms (5.4%)\n\n" in (
        rendered(replace(LAUNCH_BOUND_STEP, steps=one))
    )
    report = rendered(replace(LAUNCH_BOUND_STEP, steps=many))
    assert "max 7.64 ms; 40 of them replayed\n" in report


def test_a_finding_without_a_cure() -> None:
    """A finding that names no cure tells the reader to try none."""
    finding = replace(LAUNCH_BOUND, cures=())
    report = rendered(replace(LAUNCH_BOUND_STEP, findings=(finding,)))
    assert "try" not in report.lower()


def test_a_console_without_unicode() -> None:
    """Where the output can carry ASCII only, bars are drawn with it and nothing fails."""
    source = replace(SOURCE, path="café.json")
    report = rendered(replace(HEALTHY_STEP, source=source), encoding="ascii")
    assert "  recording  caf?.json (kineto, rank 0, 4,605 events)\n" in report
    assert f"  kernels at work                    459 us    97%  {'#' * 27}\n" in report


def test_names_that_command_the_terminal() -> None:
    """Control characters in a recording's names are shown, not obeyed."""
    finding = replace(LAUNCH_BOUND, evidence=(Evidence("in \x1b[2Jkernel\a"),))
    report = rendered(replace(LAUNCH_BOUND_STEP, findings=(finding,)))
    assert "in ?[2Jkernel?\n" in report
    assert "\x1b" not in report


def test_names_that_look_like_markup() -> None:
    """Square brackets and colons in names stay as they are."""
    finding = replace(LAUNCH_BOUND, evidence=(Evidence("in at[bold]::x:smile:"),))
    report = rendered(replace(LAUNCH_BOUND_STEP, findings=(finding,)))
    assert "in at[bold]::x:smile:\n" in report


@pytest.mark.parametrize("width", [50, 80, 200])
@pytest.mark.parametrize("diagnosis", [LAUNCH_BOUND_STEP, HEALTHY_STEP, NO_STEPS])
def test_the_width_of_the_page(diagnosis: Diagnosis, width: int) -> None:
    """Lines keep to the width, and in a file to 80 columns."""
    lines = rendered(diagnosis, width=width).splitlines()
    assert max(map(len, lines)) <= min(width, 80)


def test_the_next_command_comes_last() -> None:
    """The report ends with what to type."""
    diagnosis = replace(LAUNCH_BOUND_STEP, next="tailwave whatif f --cuda-graph")
    assert rendered(diagnosis) == (f"{LAUNCH_BOUND_REPORT}\nnext: tailwave whatif f --cuda-graph\n")


def test_colour_adds_no_words() -> None:
    """On a terminal with colours, the words and their places are the same as in a file."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        render_diagnosis(LAUNCH_BOUND_STEP, console)
    coloured = capture.get()
    assert "\x1b[1;31m 1. CRITICAL" in coloured
    assert Text.from_ansi(coloured).plain.strip() == LAUNCH_BOUND_REPORT.strip()


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR takes the colours out, on a terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        render_diagnosis(LAUNCH_BOUND_STEP, console)
    assert "\x1b[1m 1. CRITICAL" in capture.get()


def test_an_unsound_recording_is_not_called_healthy() -> None:
    """When findings were withheld, the first line says so instead of finding nothing wrong."""
    withheld = replace(HEALTHY_STEP, withheld=("launch-bound",))

    first = " ".join(rendered(withheld).split("\n\n", maxsplit=1)[0].split())

    assert first == (
        "This recording is not sound enough to say what is wrong (launch-bound withheld): see the "
        "notes, and record it again."
    )


def test_the_costliest_of_what_the_gpu_runs_is_listed() -> None:
    """With its share and what it computes; a name that does not tell says nothing of that."""
    costliest = (
        StepKernel(
            "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "matrix product", 24, 812, 0.7
        ),
        StepKernel("insert", "other", 1, 300, 0.26),
        StepKernel("Memcpy HtoD (Pageable -> Device)", "copy", 0.5, 46.2, 0.04),
    )
    report = rendered(msgspec.structs.replace(NO_STEPS, costliest=costliest))
    assert COSTLIEST in report
