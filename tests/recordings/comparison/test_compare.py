"""Two recordings compared: what is refused, which rank counts, what is said."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

import tailwave
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import RecordingComparison
from tailwave.recordings.comparison.compare import compare_timelines
from tests.builders import Trace
from tests.places import ROOT
from tests.recordings.comparison.runs import compared, of, run

PUBLIC = ROOT.parent / "shared" / "data" / "public"
H100, MI300 = PUBLIC / "timesformer_h100.json.gz", PUBLIC / "tl_mi300_timesformer.json.gz"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            "decode_small.eager",
            "resnet50_b1.eager",
            "of the 132 and 280 kernels of their steps only 16 match",
        ),
        ("input.fed", "gemm.big", "of the 60 and 5 kernels of their steps only 0 match"),
        ("train_b8.eager", "train_b128.eager", "11.8 times as many threads in the second"),
        ("train_b8.eager", "optimizer.fused", "0.749 times as many threads in the second"),
    ],
)
def test_different_work_is_refused(before: str, after: str, words: str) -> None:
    """In one sentence that says how many kernels match, or by how much the sizes differ."""
    with pytest.raises(UsageError, match=f"^{before} and {after} are of .*{re.escape(words)}"):
        of(before, after)


def test_nothing_to_compare() -> None:
    """A recording without GPU work is named."""
    nothing = Trace().step(0, 100).op("aten::mm", 0, 20).build()
    with pytest.raises(UnreadableInputError, match=r"^new has no steps with GPU work to compare"):
        compared(run(), nothing)


def test_the_slowest_rank_stands_for_the_run() -> None:
    """Of several, and it is said."""
    slow = replace(run(each=30.0), rank=1)
    comparison = compare_timelines([run(), slow], "old", [run()], "new")
    assert comparison.before.rank == 1
    assert "old: Of its 2 ranks the slowest is compared, rank 1." in comparison.notes
    assert comparison.before.source.ranks == (0, 1)


def test_the_step_without_the_recorder_is_beside_the_recorded_one() -> None:
    """As a diagnosis counts from."""
    comparison = of("decode_small.eager", "decode_small.graph")
    assert comparison.before.now.us < comparison.before.now.recorded_us
    assert comparison.before.now.recorded_us == pytest.approx(comparison.before.steps.mean_us)


def test_other_recorders_are_a_doubt() -> None:
    """What each costs the host differs."""
    notes = compared(run(), replace(run(), kind="nsys")).notes
    assert notes[0].startswith("The recorders differ (kineto and nsys)")


def test_the_scatter_of_the_steps() -> None:
    """The difference lies within an interval, which one step alone cannot give."""
    comparison = of("input.fed", "syncs.no_sync")
    assert comparison.low_us is not None
    assert comparison.high_us is not None
    assert comparison.low_us < comparison.difference_us < comparison.high_us
    assert compared(run(), run(count=1)).low_us is None


def test_calls_of_the_host_are_side_by_side() -> None:
    """By name, with calls and time a step."""
    (row,) = compared(run(), run(each=25.0)).calls
    assert (row.before, row.after) == ("cudaLaunchKernel", "cudaLaunchKernel")
    assert (row.before_calls, row.before_us, row.after_us) == (7.0, 7 * 8.0, 7 * 10.5)


@pytest.mark.skipif(not MI300.exists(), reason="public recordings are not here")
def test_one_model_on_gpus_of_two_vendors() -> None:
    """99 of 100 kernels are found again; the copy and the kernels are faster, the host slower."""
    comparison = tailwave.compare(H100, MI300)
    assert isinstance(comparison, RecordingComparison)
    matched = comparison.matched
    assert matched.by_name + matched.by_operator >= 0.99 * matched.before
    figures = {part.what: part.us for part in comparison.parts}
    assert figures["kernels"] < -30_000
    assert figures["host-starved"] > 20_000
    assert sum(figures.values()) == pytest.approx(comparison.difference_us)
