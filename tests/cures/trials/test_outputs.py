"""Whether a changed program computes what it computed before."""

from __future__ import annotations

from typing import Any

import pytest

from tailwave.cures.trials.outputs import Match, compare, exposed, worst
from tailwave.cures.trials.run import Run
from tailwave.model import OutputMatch
from tests.cures.trials.script import steps_run

_OTHERS = "x has other values that are no finite numbers"


def run(**outputs: dict[str, Any]) -> Run:
    """Return a run that exposed these outputs."""
    return steps_run([], outputs)


def value(
    *values: float | str, sha256: str = "", count: int = 1, dtype: str = "float32"
) -> dict[str, Any]:
    """Return an output as the hook reports it."""
    return {
        "count": count,
        "values": list(values),
        "shape": [len(values)],
        "dtype": dtype,
        "sha256": sha256 or repr(values),
    }


@pytest.mark.parametrize(
    ("before", "after", "match", "detail"),
    [
        ((1.0, 2.0), (1.0, 2.0), OutputMatch.EQUAL, ""),
        ((1.0, 2.0), (1.0, 2.001), OutputMatch.CLOSE, "x differs by <0.1% of its largest value"),
        ((1.0, 2.0), (1.0, 2.01), OutputMatch.DIFFER, "x differs by 0.5% of its largest value"),
        # a small part of a large output may be off by a thousandth of the large one
        (
            (0.001, 100.0),
            (0.002, 100.0),
            OutputMatch.CLOSE,
            "x differs by <0.1% of its largest value",
        ),
        ((0.0, 0.0), (0.0, 0.1), OutputMatch.DIFFER, "x differs by 0.1"),
        ((1.0, "nan"), (1.0, 2.0), OutputMatch.DIFFER, _OTHERS),
        ((1.0, "nan"), (1.0, "inf"), OutputMatch.DIFFER, _OTHERS),
        ((1.0, "inf"), (1.0, "-inf"), OutputMatch.DIFFER, _OTHERS),
        ((0.0, 0.0), (0.0, "nan"), OutputMatch.DIFFER, _OTHERS),
        (
            (1.0, "-inf"),
            (1.0005, "-inf"),
            OutputMatch.CLOSE,
            "x differs by <0.1% of its largest value",
        ),
        (
            (1.0, 2.0),
            (1.0,),
            OutputMatch.DIFFER,
            "x: 1 of shape [1], where there were 1 of shape [2]",
        ),
    ],
)
def test_one_output(
    before: tuple[float | str, ...], after: tuple[float | str, ...], match: OutputMatch, detail: str
) -> None:
    """Equal by hash, close within a thousandth of the largest value, or else different."""
    assert compare(run(x=value(*before)), run(x=value(*after))) == Match(match, detail)


def test_as_many_values_as_before() -> None:
    """A program that exposes an output once less has done something else."""
    found = compare(run(x=value(1.0, count=3)), run(x=value(1.0, count=2)))
    assert found.match is OutputMatch.DIFFER


@pytest.mark.parametrize(
    ("before", "after", "now", "match"),
    [
        ("bfloat16", "bfloat16", 2.031, OutputMatch.CLOSE),
        ("bfloat16", "bfloat16", 2.033, OutputMatch.DIFFER),
        ("float16", "float16", 2.0015, OutputMatch.CLOSE),
        ("float16", "float16", 2.003, OutputMatch.DIFFER),
        ("", "", 2.003, OutputMatch.DIFFER),
        # the program as it is says how exact its numbers are, not what has changed them
        ("float32", "bfloat16", 2.003, OutputMatch.DIFFER),
        ("bfloat16", "float32", 2.031, OutputMatch.CLOSE),
    ],
)
def test_coarser_numbers_may_differ_by_more(
    before: str, after: str, now: float, match: OutputMatch
) -> None:
    """Of bfloat16 it is 1.6% of the largest value, of any other type 0.1%."""
    was = run(x=value(1.0, 2.0, dtype=before))
    assert compare(was, run(x=value(1.0, now, dtype=after))).match is match


def test_a_report_that_says_no_type() -> None:
    """Its numbers are compared as those of Python."""
    was, now = value(2.0), value(2.003)
    for output in (was, now):
        del output["dtype"]
    assert compare(run(x=was), run(x=now)).match is OutputMatch.DIFFER


def test_values_that_the_report_left_out() -> None:
    """Where only parts that are not reported differ, the hash says so, and the rest agrees."""
    found = compare(run(x=value(1.0, sha256="a")), run(x=value(1.0, sha256="b")))
    assert found.match is OutputMatch.CLOSE


@pytest.mark.parametrize(
    ("before", "after", "detail"), [("xy", "x", "y is missing"), ("x", "xy", "y is new")]
)
def test_outputs_that_only_one_has(before: str, after: str, detail: str) -> None:
    """They differ."""
    outputs = [run(**{name: value(1.0) for name in names}) for names in (before, after)]
    assert compare(*outputs) == Match(OutputMatch.DIFFER, detail)


def test_a_program_that_exposes_nothing() -> None:
    """There is nothing to compare."""
    assert compare(run(), run()) == Match(OutputMatch.NOT_EXPOSED)


def test_the_worst_counts() -> None:
    """Of several outputs, or of several rounds."""
    found = compare(run(a=value(1.0), b=value(1.0)), run(a=value(2.0), b=value(1.0)))
    assert found.match is OutputMatch.DIFFER
    assert worst([]) == Match(OutputMatch.NOT_EXPOSED)


def test_the_main_process_goes_first() -> None:
    """Of two processes that expose the same name, what the main one says counts."""
    reports = (
        {"main": True, "outputs": {"x": value(1.0)}},
        {"main": False, "outputs": {"x": value(9.0), "y": value(2.0)}},
    )
    found = exposed(Run(0, 1.0, reports=reports))
    assert {name: output.values for name, output in found.items()} == {"x": (1.0,), "y": (2.0,)}


@pytest.mark.parametrize(
    ("dtype", "match"),
    [
        ("int", OutputMatch.DIFFER),
        ("int64", OutputMatch.DIFFER),
        ("uint8", OutputMatch.DIFFER),
        ("bool", OutputMatch.DIFFER),
        ("float64", OutputMatch.CLOSE),
    ],
)
def test_whole_numbers_must_be_the_same(dtype: str, match: OutputMatch) -> None:
    """A token's neighbour is another token."""
    was, now = (run(x=value(50_000.0, last, dtype=dtype)) for last in (1.0, 2.0))
    assert compare(was, now).match is match


def test_the_tolerance_itself_is_within() -> None:
    """A thousandth of the largest value."""
    assert compare(run(x=value(1000.0)), run(x=value(1001.0))).match is OutputMatch.CLOSE
    assert compare(run(x=value(1000.0)), run(x=value(1001.5))).match is OutputMatch.DIFFER


def test_without_a_hash_the_values_speak() -> None:
    """An empty hash is no equality."""
    was, now = (run(x={**value(last), "sha256": ""}) for last in (1.0, 2.0))
    assert compare(was, now).match is OutputMatch.DIFFER


def test_no_numbers_stay_what_they_were() -> None:
    """A nan that was one before is no difference."""
    was, now = run(x=value(1.0, "nan")), run(x=value(1.0005, "nan"))
    assert compare(was, now).match is OutputMatch.CLOSE


def test_outputs_that_only_the_changed_program_exposes() -> None:
    """There is nothing to compare them with."""
    assert compare(run(), run(x=value(1.0))) == Match(OutputMatch.NOT_EXPOSED)
