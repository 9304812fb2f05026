"""The kernels, and kinds of copies, that take most of a step's GPU time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailwave.model import StepKernel
from tailwave.recordings.causes.costliest import MOST, costliest
from tailwave.recordings.timeline.prepare import prepare
from tests.builders import PINNED_HTOD, Trace, copy, kernel, steps

MUL = "void at::native::vectorized_elementwise_kernel<{}, at::native::MulFunctor<float>>(int)"


def test_what_reads_the_same_is_one() -> None:
    """Calls and times are a step's; two widths of one template are one kernel to a reader."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, copy(PINNED_HTOD, 5, 25, size=1000), call="cudaMemcpyAsync")
        trace.launch(5, 9, kernel("nvjet_tst", 25, 85), kernel(MUL.format(4), 85, 95))
        trace.launch(10, 14, kernel(MUL.format(2), 95, 105))

    found = costliest(prepare(steps(4, 110, body)).case)
    assert found == (
        StepKernel("nvjet_tst", "matrix product", 1, 60, 0.6),
        StepKernel(PINNED_HTOD, "copy", 1, 20, 0.2),
        StepKernel("vectorized_elementwise_kernel<MulFunctor<float>>", "elementwise", 2, 20, 0.2),
    )


def test_shares_of_concurrent_work_are_of_its_sum() -> None:
    """Two kernels side by side have a half each, though the GPU was busy for one's time."""

    def body(trace: Trace) -> None:
        trace.launch(0, 4, kernel("a", 5, 105), kernel("b", 5, 105, stream=8))

    found = costliest(prepare(steps(4, 110, body)).case)
    assert [(one.name, one.us, one.share) for one in found] == [("a", 100, 0.5), ("b", 100, 0.5)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 500)), min_size=1, max_size=30))
def test_shares_never_exceed_the_whole(work: list[tuple[int, int]]) -> None:
    """Whatever ran beside what: five rows at most, the costliest first, and no more than all."""

    def body(trace: Trace) -> None:
        for place, (name, took) in enumerate(work):
            trace.launch(place, place + 1, kernel(f"k{name}", 40, 41 + took, stream=place))

    found = costliest(prepare(steps(3, 600, body)).case)
    assert 0 < len(found) <= MOST
    assert [one.us for one in found] == sorted((one.us for one in found), reverse=True)
    assert sum(one.share for one in found) < 1 + 1e-9
    assert all(0 <= one.share <= 1 for one in found)
