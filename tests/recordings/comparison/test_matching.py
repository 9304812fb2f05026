"""Which kernels are one another's."""

from __future__ import annotations

from msgspec.structs import replace

from tailwave.model import RecordingComparison
from tests.builders import H200
from tests.recordings.comparison.runs import NAMES, compared, of, run

RENAMED = ("embed", "sm90_gemm", "norm", "flash", "head", "softmax", "copy")


def pairs(comparison: RecordingComparison) -> set[tuple[str, str]]:
    """Return the names of the kernels that are one another's."""
    return {(row.before, row.after) for row in comparison.kernels}


def test_by_name_in_order() -> None:
    """Each kernel is that of the same name; what only one has stands alone."""
    shorter = [name for name in NAMES if name != "norm"]
    comparison = compared(run(), run(names=shorter, took=(8.0,) * len(shorter)))
    assert pairs(comparison) == {(name, name) for name in shorter} | {("norm", "")}
    assert comparison.matched.by_name == len(shorter)


def test_renamed_kernels_by_their_place() -> None:
    """Between two kernels that match, one unknown is the other unknown."""
    assert pairs(compared(run(), run(names=RENAMED))) == {*zip(NAMES, RENAMED, strict=True)}


def test_renamed_kernels_by_their_operator() -> None:
    """An operator that runs two kernels where the other runs one, has one that was added."""
    operators = ("a", "mm", "b", "sdpa", "c", "d", "e")
    old = run(operators=operators)
    new = run(
        names=("embed", "sm90_gemm", "splitk", "norm", "flash", "head", "softmax", "copy"),
        took=(8.0,) * 8,
        operators=("a", "mm", "reduce", "b", "sdpa", "c", "d", "e"),
    )
    comparison = compared(old, new)
    assert ("", "splitk") in pairs(comparison)
    assert {("gemm", "sm90_gemm"), ("attention", "flash")} <= pairs(comparison)
    assert (comparison.matched.by_name, comparison.matched.by_operator) == (5, 2)


def test_two_vendors_by_operator_alone() -> None:
    """Where no name is the same, the same operators on another GPU are the same work."""
    operators = [f"aten::{name}" for name in NAMES]
    other = replace(H200, name="AMD Instinct MI300X", sm_count=304)
    names = [f"Cijk_{name}" for name in NAMES]
    comparison = compared(
        run(operators=operators), run(names=names, operators=operators, device=other)
    )
    assert comparison.matched.by_operator == len(NAMES)
    assert pairs(comparison) == {*zip(NAMES, names, strict=True)}


def test_all_work_of_both_is_in_the_pairs() -> None:
    """Calls and time of the kernels sum to what each recording has."""
    for before, after in (("optimizer.forloop", "optimizer.fused"), ("tenant.alone",) * 2):
        comparison = of(before, after)
        alone = of(before, before)
        for figure in ("before_calls", "before_us"):
            total = sum(getattr(row, figure) for row in comparison.kernels)
            assert abs(total - sum(getattr(row, figure) for row in alone.kernels)) < 1e-6
