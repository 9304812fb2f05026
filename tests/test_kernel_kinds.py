"""What a kernel computes, told by its name."""

from __future__ import annotations

import pytest

from tailwave.kernel_kinds import KernelKind, kind_of

_NATIVE = "void at::native::"
_NAMES = {
    KernelKind.MATRIX_PRODUCT: (
        "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_bias_TNT",
        "ampere_sgemm_32x32_sliced1x4_tn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64__5x_cublas",
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_tn_align8>"
            "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8::Params)"
        ),
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>>>",
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, "
            "cublasGemvParams<cublasGemvTensorStridedBatched<float const>, float> >(int)"
        ),
        "void splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>(float)",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_dynBatch_sm100f",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "triton_tem_fused_addmm_relu_3",
        "gemm_fusion_dot_5",
        "void MatrixMulCUDA<32>(float *, float *, float *, int, int)",
        "matmul(float *, float *, float *, int)",
    ),
    KernelKind.ATTENTION: (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32, 4> >(int)",
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
            "flash::CollectiveMainloopFwdSm90<2>>>>(int)"
        ),
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, 64>(int)",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1>>(int)",
        "kernel_unified_attention_3d",
        "_fwd_grouped_kernel_stage1",
        "attn_fwd",
    ),
    KernelKind.CONVOLUTION: (
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128__5x_cudnn",
        "cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
        "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionIiEEEEvT_",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4",
        "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1",
        f"{_NATIVE}im2col_kernel<float>(long)",
    ),
    KernelKind.ELEMENTWISE: (
        f"{_NATIVE}vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        (
            f"{_NATIVE}elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
            "(anonymous namespace)::GroupNormKernelImplInternal<c10::Half>>>(int)"
        ),
        (
            f"{_NATIVE}(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, "
            "BinaryOpListAlphaFunctor<float, 2>, std::plus<float>>(int)"
        ),
        "triton_poi_fused__scaled_dot_product_cudnn_attention__unsafe_view_add_cat_1",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long)",
        "void vllm::act_and_mul_kernel<c10::BFloat16>(int)",
        "generatedNativePointwise",
        "cupy_multiply__float64_float64_float64",
        "loop_convert_multiply_fusion_4",
        "fusion_12",
        "saxpy(int, float, float *, float *)",
        "vectorAdd(const float *, const float *, float *, int)",
        "sumArraysOnGPU(float *, float *, float *, int)",
    ),
    KernelKind.REDUCTION: (
        f"{_NATIVE}reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps<float>>>(int)",
        f"{_NATIVE}(anonymous namespace)::cunn_SoftMaxForward<8, float, float>(int)",
        f"{_NATIVE}(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
        f"{_NATIVE}multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor<float>>(int)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(int)",
        "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_8PipelineEEEEEvT0_",
        "void cub::CUB_200_700_NS::DeviceReduceKernel<Policy600, double>(int)",
        "MIOpenBatchNormFwdTrainSpatial",
        "triton_red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0",
        "triton_per_fused_addmm_native_layer_norm_2",
        "input_add_reduce_fusion",
        "cupy_sum",
        "void fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)",
    ),
    KernelKind.COLLECTIVE: (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long)",
        "rcclGenericKernel<1, false>",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)",
        "void multimem_all_reduce_kernel<c10::BFloat16, 16, true>(int)",
    ),
    KernelKind.COPY: (
        f"{_NATIVE}(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3>(int)",
        f"{_NATIVE}vectorized_gather_kernel<16, long>(char*)",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, true, false>(int)",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(int)",
        "void split_embedding_codegen_forward_unweighted_kernel<float>(at::fbgemm::Tensor)",
        "batched_transpose_32x16_half",
        "Memcpy HtoD (Pageable -> Device)",
        "Memset (Device)",
    ),
    KernelKind.OTHER: (
        "d_insert_arr(const int *, unsigned int)",
        "triton__0d1d2d3d",
        "cub::DeviceRadixSortOnesweepKernel<Policy800>",
        "create_flashinfer_kv_indices_triton",
        "",
    ),
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for kind, names in _NAMES.items() for name in names]
)
def test_libraries_kernels_are_known(name: str, kind: KernelKind) -> None:
    """By their own names, else by what stands around them."""
    assert kind_of(name) is kind
