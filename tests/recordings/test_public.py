"""Public recordings that the project does not ship, where they are at hand: what is right of each.

They are larger than the cases, of other GPUs and programs, and no constant was looked at on them.
"""

from __future__ import annotations

import pytest

from tailwave.model import Diagnosis
from tests.places import ROOT
from tests.recordings import right as known
from tests.recordings.right import Right, judged

PUBLIC = ROOT.parent / "shared" / "data" / "public"
pytestmark = pytest.mark.skipif(not PUBLIC.is_dir(), reason="no public recordings here")

ROWS = (
    Right(
        files=("tl_h100_owlv2.json.gz",),
        says="610 ms of 1.21 s are preprocessing on the CPU",
        steps=1,
        step_us=1_211_182,
        shares={"host-starved": 610_000},
        first=("host-starved",),
        part=(0.48, 0.54),
    ),
    Right(
        files=("tl_mi300_timesformer.json.gz",),
        says="269 ms of 390 are preprocessing on the CPU",
        steps=1,
        step_us=390_680,
        shares={"host-starved": 269_000},
        first=("host-starved",),
        part=(0.60, 0.72),
        missed={"division": "247 ms: 21 ms of it are called stretched"},
    ),
    Right(
        files=("timesformer_h100.json.gz",),
        says="215 ms of preprocessing, 57% of the step",
        steps=1,
        step_us=382_536,
        shares={"host-starved": 215_000},
        first=("host-starved",),
        part=(0.53, 0.60),
    ),
    Right(
        files=("tl_sglang_decode.json.gz",),
        says="not launch-bound: the work was queued 463 ms before it began",
        shares={"queued": 463_000},
        found={"queued": (0.95, 1.0)},
        innocent=("launch-bound", "host-sync", "host-starved"),
    ),
    Right(
        files=("tl_vllm_decode_full.json.gz",),
        says="a window cut while the host was 8 ms ahead: GPU idle 0.2% to 4.3%",
        step_us=10_743,
        busy_us=10_718,
        first=(),
        words=("come before its steps",),
    ),
    Right(
        files=("hta_mi250.json.gz",),
        says="one real step of 9.3 ms, of which one hipLaunchKernel takes 6.5; the second is empty",
        steps=1,
        step_us=9_264,
        words=("hipLaunchKernel", "1 of 2 steps left out"),
    ),
    Right(
        files=("hta_alexnet.json.gz",),
        says="29.9 s in one call are start-up, not host-sync",
        innocent=("host-sync", "host-contention"),
        words=("start-up",),
        missed={
            "findings": "host-sync 89%, of 43 s",
            "words": "nothing is said of start-up",
        },
    ),
    Right(
        files=("hta_triton.json.gz",),
        says="a ProfilerStep of 13.3 s in a trace of 0.36 s is no step of 13.3 s",
        steps=1,
        step_us=1_521,
    ),
    Right(
        files=("hta_eventsync_multi.json.gz",),
        says="three products are one step, not three",
        steps=1,
    ),
    Right(
        files=("hta_negqueue.json.gz",),
        says="132 of 216 ms are holes of up to 64 ms inside graph launches, not switching",
        steps=5,
        found={"graph-holes": (0.55, 0.63)},
        innocent=("launch-bound", "host-sync"),
        words=("inside graph launches, in holes of up to 64.7 ms",),
    ),
    Right(
        files=("param_resnet.json.gz",),
        says="52% of 29 steps is DataLoader stall, in some of the steps",
        steps=29,
        first=("host-starved",),
        part=(0.50, 0.54),
        words=("DataLoader", "14 of 29 steps"),
        missed={"words": "the stall is called that of aten::add_, the operator before it"},
    ),
    Right(
        files=("tl_b200_eager.json.gz",),
        says="one step of 87 ms, 929 launches, launch-bound",
        steps=1,
        step_us=87_340,
        first=("launch-bound",),
        part=(0.6, 0.9),
        words=("929 launches",),
    ),
    Right(
        files=("hta_control_a100.json.gz",),
        says="12% idle after waits in aten::to and aten::item; 14.5 of 77 ms only collectives",
        steps=6,
        shares={"collectives": 14_500, "host-sync": 9_300},
        first=("host-sync",),
        part=(0.08, 0.14),
        words=("idle after aten::to", "idle after aten::item"),
        missed={"division": "7.8 ms, 10%, after waits; 2.3 ms are called stretched"},
    ),
    Right(
        files=("nsys_mfu_2gpu.sqlite",),
        says="elementwise kernels fused bring 19%: they are three of ten kernels' time",
        steps=16,
        found={"unfused": (0.16, 0.20)},
        missed={"findings": "no finding speaks of elementwise kernels"},
    ),
)


def diagnosed(right: Right) -> Diagnosis:
    """Diagnose a public recording."""
    return known.of(right, PUBLIC)


@judged(ROWS, "steps", "steps", "step_us", "busy_us")
def test_steps(right: Right) -> None:
    """The steps are as many and as long as they are."""
    known.steps_are_right(diagnosed(right), right)


@judged(ROWS, "division", "shares")
def test_division(right: Right) -> None:
    """The step's time goes where it goes."""
    known.division_is_right(diagnosed(right), right)


@judged(ROWS, "findings", "first", "found", "innocent")
def test_findings(right: Right) -> None:
    """The cause comes first, with what it is worth; nobody else is blamed."""
    known.findings_are_right(diagnosed(right), right)


@judged(ROWS, "words", "words")
def test_words(right: Right) -> None:
    """Notes and evidence say what was found or left out."""
    known.words_are_right(diagnosed(right), right)
