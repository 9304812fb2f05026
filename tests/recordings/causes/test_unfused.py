"""Elementwise kernels that follow each other."""

from __future__ import annotations

import pytest

from tailwave.model import Timeline
from tailwave.recordings.causes import unfused
from tailwave.recordings.replay.forecast import forecast
from tailwave.recordings.replay.whatif import alone
from tailwave.recordings.timeline.prepare import prepare
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import find, found, recorded

ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
MUL = "void at::native::elementwise_kernel<128, 2, at::native::MulFunctor<float>>(int)"
GEMM = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT"


def run(*names: str) -> Timeline:
    """Run kernels of 100 us each in a step, issued ahead."""

    def body(trace: Trace) -> None:
        for number, name in enumerate(names):
            begin = 5 + 100 * number
            trace.launch(5 * number, 5 * number + 4, kernel(name, begin, begin + 100))

    return steps(8, 40, body, gpu=100 * len(names))


def test_a_run_of_elementwise_kernels_is_found() -> None:
    """Three of them as one take the time of the longest, and the step's gain is the what-if's."""
    finding = found(unfused, run(GEMM, ADD, MUL, ADD, GEMM))
    assert finding.step_us_now == pytest.approx(500, rel=0.01)
    assert finding.step_us_after == pytest.approx(300, rel=0.01)
    assert finding.condition == "if they work on the same data"
    assert finding.cures == ("compile",)
    assert finding.claim.startswith("2 elementwise kernels follow right after another")
    assert finding.claim.endswith("less), if they work on the same data.")
    figures = {piece.what: piece.value for piece in finding.evidence if piece.value is not None}
    assert figures == {
        "vectorized_elementwise_kernel<CUDAFunctor_add<float>>, once": 100,
        "elementwise_kernel<MulFunctor<float>>, once": 100,
    }


@pytest.mark.parametrize(
    "names",
    [
        (GEMM, ADD, GEMM, MUL),  # none follows another
        (GEMM, "triton_poi_fused_add_mul_0", "triton_poi_fused_gelu_1"),  # a compiler's
        (GEMM, "loop_add_fusion", "loop_multiply_fusion_2"),
        (GEMM, "multi_tensor_apply_kernel<AddFunctor<float>>", "multi_tensor_apply_kernel<M<int>>"),
        (GEMM, GEMM),
    ],
)
def test_what_cannot_be_fused_is_not_found(names: tuple[str, ...]) -> None:
    """Lone kernels, and what is several in one already."""
    assert find(unfused, run(*names)) is None


def test_a_training_step_of_many_elementwise_kernels() -> None:
    """Recorded on two GPUs: the finding's gain is the what-if's, a fifth of the step."""
    timeline = recorded("nsys/fuse_not_in_diagnose.sqlite")[1]
    finding = found(unfused, timeline)
    answer = alone(forecast(prepare(timeline).case), "fuse")
    assert finding.recoverable_us == pytest.approx(answer.recoverable_us)
    assert finding.share == pytest.approx(0.2, abs=0.03)
