"""Kernels' names as people read them."""

from __future__ import annotations

import pytest

from tailwave.kernel_names import own_name, short

_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<8, {}, std::array<char*, 2ul> >(int)"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fill", "fill"),
        ("fill(float *, int)", "fill"),
        ("void at::native::(anonymous namespace)::fill<4, float>(float*, F<2>)", "fill"),
        ("void <unnamed>::fill<4, float>(float*, F<2>)", "fill"),
        ("void fill<at::Op<float, (char)2>>(int)", "fill"),
        ("std::enable_if<true, void>::type at::fill<float>(float*)", "fill"),
        ("_Z4fillPf", "fill"),
        ("_ZN2at6native4fillIfEEvPT_", "fill"),
        ("", ""),
        ("()", "()"),
    ],
)
def test_a_kernels_own_name(name: str, own: str) -> None:
    """However it is written, without all that C++ puts around it."""
    assert own_name(name) == own


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("k01(float *)", "k01"),
        ("_ZN2at6native4fillIfEEvPT_", "fill"),
        ("", ""),
        (
            (
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10"
                "::BFloat16, float, false>(int, float, c10::BFloat16 const*)"
            ),
            "vectorized_layer_norm_kernel<BFloat16, float>",
        ),
        (
            (
                "void at::native::reduce_kernel<512, 1, at::ReduceOp<float, at::MeanOps<float, "
                "float, float, float>, unsigned int, float, 4, 4> >(at::ReduceOp<...>)"
            ),
            "reduce_kernel<ReduceOp<float, MeanOps<float>>>",
        ),
        (
            (
                "void at::native::multi_tensor_apply_kernel<at::TensorListMetadata<1>, (anonymous "
                "namespace)::Square<c10::BFloat16, 1>, std::multiplies<float> >(int)"
            ),
            "multi_tensor_apply_kernel<Square<BFloat16>, multiplies<float>>",
        ),
    ],
)
def test_a_name_keeps_what_it_computes(name: str, expected: str) -> None:
    """Types and functors; not namespaces, parameters, sizes, or types of indices."""
    assert short(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_ZN2at6native4fillIfEEvPNS_6TensorE", "fill"),
        (
            "_ZN5aiter18act_and_mul_kernelI14__hip_bfloat16Li8EEEvPT_",
            "act_and_mul_kernel<__hip_bfloat16>",
        ),
        ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8PipelineEEEEEvT0_", "kentry<Rmsnorm2dFwd>"),
        (
            "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionIiEEEEvT_",
            "Kernel<ImplicitGemmConvolution>",
        ),
    ],
)
def test_a_mangled_name_says_what_its_template_was_made_for(name: str, expected: str) -> None:
    """Many libraries have one kernel, called "Kernel", for everything."""
    assert short(name) == expected


@pytest.mark.parametrize("name", ["Memcpy HtoD (Pageable -> Device)", "Memset (Device)"])
def test_copies_stay_as_the_recorder_calls_them(name: str) -> None:
    """What stands in their brackets are no parameters."""
    assert short(name) == name


@pytest.mark.parametrize(
    ("functor", "expected"),
    [
        ("at::native::FillFunctor<float>", "FillFunctor<float>"),
        ("at::native::AUnaryFunctor<float, float, at::MulFunctor<float> >", "AUnaryFunctor"),
        (
            (
                "at::native::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() "
                "const::{lambda(c10::BFloat16)#1}"
            ),
            "silu_kernel",
        ),
        ("at::native::silu_kernel(int)::[lambda(float) (instance 1)]", "silu_kernel"),
    ],
)
def test_one_template_is_told_by_its_functor(functor: str, expected: str) -> None:
    """A lambda has no name: it is called after the function that it stands in."""
    text = short(_ELEMENTWISE.format(functor), longest=200)
    assert text.startswith(f"vectorized_elementwise_kernel<{expected}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void k<4, true>(int)", "k<4, true>"),
        ("void k<(int)4, (bool)1>(int)", "k<(int)4, (bool)1>"),
        ("void gather<16, long>(char*)", "gather<16, long>"),
    ],
)
def test_an_instance_for_numbers_keeps_them(name: str, expected: str) -> None:
    """Nothing else tells it from the others."""
    assert short(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_bias_TNT",
        "ampere_sgemm_32x32_sliced1x4_tn",
        "triton_poi_fused_add_cos_sin_0",
    ],
)
def test_names_of_libraries_stay(name: str) -> None:
    """What a tile's size and a fused operator say is in the name itself."""
    assert short(name) == name


def test_a_cutlass_kernel_is_told_by_its_tile() -> None:
    """The template is one, its argument is what people look up."""
    name = "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4"
    assert short(f"void cutlass::Kernel2<{name}>({name}::Params)") == f"Kernel2<{name}>"


def test_a_long_name_loses_its_middle() -> None:
    """Both ends tell: what it is, and the number of the instance."""
    name = f"triton_red_fused_{'mul_' * 30}native_layer_norm_17"
    assert short(name, longest=40) == "triton_red_fused_mul_mul_...ayer_norm_17"
    assert len(short(name)) == 64
