"""The comparison of two recordings in words and in JSON."""

from __future__ import annotations

from msgspec.structs import replace

from tailwave.model import (
    ComparedRecording,
    ComparedShare,
    ComparedWork,
    DeviceInfo,
    DifferencePart,
    MatchedKernels,
    RecordingComparison,
    Source,
    StepsSummary,
    StepTime,
)
from tailwave.reports import to_json
from tailwave.reports.recordings_terminal import render_recording_comparison
from tests.documents import checked
from tests.reports.printed import printed


def recording(path: str, mean_us: float, device: str) -> ComparedRecording:
    """Describe one side."""
    steps = StepsSummary(
        count=3,
        by="ProfilerStep",
        mean_us=mean_us,
        median_us=mean_us,
        p90_us=mean_us,
        p99_us=mean_us,
        max_us=mean_us,
        gpu_busy_us=1000.0,
        replayed=3,
    )
    return ComparedRecording(
        source=Source(path, "kineto", 1234, (0, 1)),
        rank=1,
        device=DeviceInfo(index=0, name=device, sm_count=132),
        steps=steps,
        now=StepTime(mean_us, mean_us, mean_us, "recorded", mean_us),
    )


SLOWER = RecordingComparison(
    before=recording("old.json.gz", 4000.0, "NVIDIA H100"),
    after=replace(
        recording("new.json.gz", 5900.0, "NVIDIA H200"),
        now=StepTime(5000.0, 4900.0, 5100.0, "measured", 5900.0),
    ),
    difference_us=1900.0,
    low_us=1800.0,
    high_us=2000.0,
    parts=(
        DifferencePart("host-per-launch", "host per launch", 1600.0, "10 us -> 22.1 us"),
        DifferencePart("clock", "lower clock", 400.0, "all kernels x1.04"),
        DifferencePart("kernels", "kernels", -100.0, "1.20 ms -> 1.50 ms"),
    ),
    shares=(ComparedShare("launch-bound", "idle, waiting for launches", 3000.0, 4600.0),),
    matched=MatchedKernels(before=132, after=130, by_name=120, by_operator=9),
    kernels=(
        ComparedWork("gemm_sm80", "gemm_sm90", 12.0, 12.0, 600.0, 500.0),
        ComparedWork("splitk", "", 1.5, 0.0, 30.0, 0.0),
    ),
    calls=(ComparedWork("cudaLaunchKernel", "cudaLaunchKernel", 132.0, 130.0, 400.0, 900.0),),
    notes=("new.json.gz: Of its 2 ranks the slowest is compared, rank 1.",),
)

REPORT = """\
Slower by 1.90 ms a step as recorded (4 ms -> 5.90 ms): 1.60 ms host per launch,
0.400 ms lower clock, -0.100 ms kernels.

  before   old.json.gz (kineto, rank 1, 1,234 events)
           NVIDIA H100, 132 SMs; 3 steps by ProfilerStep, GPU busy 25%
           4 ms a step, as recorded
  after    new.json.gz (kineto, rank 1, 1,234 events)
           NVIDIA H200, 132 SMs; 3 steps by ProfilerStep, GPU busy 17%
           5 ms a step, measured without the recorder; recorded 5.90 ms
  kernels  132 and 130 in a step; 120 match by name, 9 by their operator

What makes the difference, as recorded
 +1.60 ms  host per launch                  10 us -> 22.1 us
  +400 us  lower clock                      all kernels x1.04
  -100 us  kernels                          1.20 ms -> 1.50 ms
 +1.90 ms  together

Where the time of a step goes
   before      after     change
     3 ms    4.60 ms   +1.60 ms  idle, waiting for launches

Kernels and copies: what changed most
   before      after     change  calls
   600 us     500 us    -100 us  12            gemm_sm80 ->
                                               gemm_sm90
    30 us          -     -30 us  1.50 -> 0     splitk

Calls of the host: what changed most
   before      after     change  calls
   400 us     900 us    +500 us  132 -> 130    cudaLaunchKernel

Notes
  - new.json.gz: Of its 2 ranks the slowest is compared, rank 1.
"""


def headline(comparison: RecordingComparison) -> str:
    """Return the first paragraph, on one line."""
    text = printed(render_recording_comparison, comparison)
    return text.partition("\n\n")[0].replace("\n", " ")


def test_the_report() -> None:
    """First what makes the difference, then both recordings side by side."""
    assert printed(render_recording_comparison, SLOWER) == REPORT


def test_the_headline_sums() -> None:
    """Causes that are not named are one figure, so that what is said sums to the difference."""
    many = tuple(DifferencePart(f"p{n}", f"cause {n}", 100.0) for n in range(6))
    faster = replace(SLOWER, difference_us=600.0, parts=many)
    assert headline(faster).endswith(
        ": 100 us cause 0, 100 us cause 1, 100 us cause 2, 100 us cause 3, 200 us other."
    )


def test_a_difference_that_may_be_none() -> None:
    """Where the steps scatter by more than they differ, it is said."""
    uncertain = replace(SLOWER, low_us=-100.0, high_us=3900.0)
    assert headline(uncertain).endswith(
        " It may be none: the steps scatter so that it is -0.100 ms to 3.90 ms."
    )


def test_no_difference() -> None:
    """A recording and itself."""
    same = replace(SLOWER, difference_us=0.0, parts=(), kernels=(), calls=(), notes=())
    text = printed(render_recording_comparison, same)
    assert text.startswith("No difference: 4 ms a step.\n")
    assert "What makes" not in text


def test_the_document() -> None:
    """Field by field; names that there are not are null."""
    document = checked(to_json(SLOWER), "recording_comparison")
    assert document["schema"] == 1
    assert document["parts"][0] == {
        "what": "host-per-launch",
        "label": "host per launch",
        "us": 1600.0,
        "detail": "10 us -> 22.1 us",
    }
    assert document["kernels"][1]["after"] is None
    assert document["after"]["now"]["by"] == "measured"
    assert document["after"]["device"]["name"] == "NVIDIA H200"
