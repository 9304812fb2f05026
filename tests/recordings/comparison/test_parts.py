"""The difference of two steps, divided by cause."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tailwave.errors import UsageError
from tailwave.model import RecordingComparison
from tests.builders import H200, PAGEABLE_HTOD, PINNED_HTOD, Trace, copy, kernel, steps
from tests.places import TRACES
from tests.recordings.comparison.runs import compared, of, parts, run

LONG = (50.0, 70.0, 90.0, 30.0, 60.0, 40.0, 80.0)


def detail(comparison: RecordingComparison, what: str) -> str:
    """Return the figures behind one part."""
    (said,) = (part.detail for part in comparison.parts if part.what == what)
    return said


def test_a_slower_host() -> None:
    """Seven launches cost 5 us more each."""
    comparison = compared(run(), run(each=25.0))
    assert [*parts(comparison)] == ["host-per-launch"]
    assert parts(comparison)["host-per-launch"] == pytest.approx(34, abs=1)
    before, after = detail(comparison, "host-per-launch").split(" us -> ")
    assert float(before) == pytest.approx(20, abs=1)
    assert float(after.removesuffix(" us")) == pytest.approx(25, abs=1)


def test_a_slower_host_behind_a_busy_gpu_costs_little() -> None:
    """Of 35 us that seven launches take more, only those count for which the GPU had to wait."""
    comparison = compared(run(took=LONG), run(took=LONG, each=25.0))
    assert abs(parts(comparison)["host-per-launch"]) < 15


def test_slower_kernels_behind_a_busy_host_cost_nothing() -> None:
    """What they take more, they hide more of the host's work."""
    comparison = compared(run(), run(took=(8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 12.0)))
    found = parts(comparison)
    assert found.pop("kernels") == 4.0
    assert sum(found.values()) == pytest.approx(comparison.difference_us - 4.0, abs=0.01)
    assert found["host-hidden"] < 0


@pytest.mark.parametrize(("factor", "label"), [(1.04, "lower clock"), (0.9, "higher clock")])
def test_all_kernels_alike_is_the_clock(factor: float, label: str) -> None:
    """The same factor on every kernel of one GPU is said as the clock."""
    comparison = compared(run(took=LONG), run(took=[us * factor for us in LONG]))
    assert comparison.parts[0].label == label
    assert comparison.parts[0].us == pytest.approx((factor - 1) * sum(LONG))
    assert detail(comparison, "clock") == f"all kernels x{factor}"
    assert "kernels" not in parts(comparison)


def test_on_another_gpu_it_is_the_kernels() -> None:
    """Between two models of GPUs more differs than the clock."""
    other = replace(H200, name="NVIDIA H100 80GB HBM3")
    comparison = compared(run(took=LONG), run(took=[us * 1.04 for us in LONG], device=other))
    assert "clock" not in parts(comparison)
    assert parts(comparison)["kernels"] == pytest.approx(0.04 * sum(LONG), abs=0.01)


def test_kernels_that_change_unlike_are_no_clock() -> None:
    """One kernel's factor, or a spread of them, is the kernels' own."""
    took = [
        us * factor for us, factor in zip(LONG, (1.0, 1.2, 1.0, 1.4, 1.1, 1.3, 1.0), strict=True)
    ]
    comparison = compared(run(took=LONG), run(took=took))
    assert "clock" not in parts(comparison)
    assert parts(comparison)["kernels"] == pytest.approx(sum(took) - sum(LONG), abs=0.01)


def test_kernels_that_only_one_has() -> None:
    """Each costs its launch and its time, on the side that has it."""
    names = ("embed", "gemm", "norm", "attention", "extra", "head", "softmax", "copy")
    more = run(names=names, took=(8.0,) * len(names))
    assert parts(compared(run(), more)) == {"launches": 12.0, "kernels-added": 8.0}
    assert parts(compared(more, run())) == {"launches": -12.0, "kernels-removed": -8.0}
    assert detail(compared(run(), more), "launches") == "7 -> 8 a step"


def test_copies() -> None:
    """Bytes at the rate that the longer copies have, and the rate of the bytes of both."""

    def copied(name: str, size: int, took: float) -> RecordingComparison:
        def body(trace: Trace) -> None:
            trace.launch(0, 5, copy(name, 10, 10 + took, size=size), call="cudaMemcpyAsync")
            trace.launch(6, 10, kernel("gemm", 10 + took, 400))

        def before(trace: Trace) -> None:
            trace.launch(0, 5, copy(PINNED_HTOD, 10, 110, size=1_000_000), call="cudaMemcpyAsync")
            trace.launch(6, 10, kernel("gemm", 110, 400))

        return compared(steps(3, 400, before), steps(3, 400, body))

    assert parts(copied(PINNED_HTOD, 2_000_000, 200))["copied-bytes"] == 100.0
    slower = copied(PAGEABLE_HTOD, 1_000_000, 150)
    assert parts(slower)["copy-speed"] == 50.0
    assert detail(slower, "copy-speed") == "10 GB/s -> 6.67 GB/s"


@pytest.mark.parametrize(
    ("before", "after", "most", "share"),
    [
        ("decode_small.eager", "decode_small.graph", "launches", 0.95),
        ("diffusion_c64.eager", "diffusion_c64.graph", "launches", 0.95),
        ("optimizer.forloop", "optimizer.fused", "launches", 0.9),
        ("syncs.no_sync", "syncs.item_each_layer", "host-sync", 0.9),
        ("input.fed", "input.starved_4ms", "host-starved", 0.85),
        ("h2d.pageable_serial", "h2d.pinned_overlap", "copy-speed", 0.9),
        ("tenant.alone", "tenant.with_hog", "kernels-added", 0.9),
        ("waves.grid_132", "waves.grid_133", "kernels", 0.95),
    ],
)
def test_what_was_planted_does_most(before: str, after: str, most: str, share: float) -> None:
    """Of two recordings of which one has the cause and the other its cure."""
    comparison = of(before, after)
    assert comparison.parts[0].what == most
    assert comparison.parts[0].us / comparison.difference_us >= share


def test_the_parts_sum_to_the_difference() -> None:
    """Of any two recordings that can be compared, and of the shares too."""
    names = sorted(path.name.removesuffix(".json.gz") for path in TRACES.glob("*.json.gz"))
    compared_pairs = 0
    for before, after in itertools.product(names, repeat=2):
        try:
            comparison = of(before, after)
        except UsageError:
            continue
        compared_pairs += 1
        difference, longest = comparison.difference_us, comparison.before.steps.mean_us
        assert sum(part.us for part in comparison.parts) == pytest.approx(difference, abs=1e-3)
        shares = sum(share.after_us - share.before_us for share in comparison.shares)
        assert shares == pytest.approx(difference, abs=1e-6 * longest)
        assert (before == after) <= (comparison.parts == ())
    assert compared_pairs >= 2 * len(names)


@given(
    st.lists(st.floats(min_value=1, max_value=100), min_size=7, max_size=7),
    st.floats(min_value=5, max_value=60),
)
def test_no_part_is_more_than_what_it_is_of(took: list[float], each: float) -> None:
    """Host per launch is no more than the host's own change, kernels no more than theirs."""
    found = parts(compared(run(), run(took=took, each=each)))
    assert abs(found.get("host-per-launch", 0.0)) <= 7.4 * abs(each - 20) + 0.1
    by_kernels = found.get("kernels", 0.0) + found.get("clock", 0.0)
    assert by_kernels == pytest.approx(sum(took) - 56, abs=0.1)
