"""What a kernel computes, told by its name.

Libraries name their kernels after what they do, each in its own way. A kernel's own name decides;
where it says nothing ("Kernel2", "multi_tensor_apply_kernel"), its namespaces and the types that
its template was made for. The words are those of cuBLAS, cuDNN, CUTLASS, CUB, NCCL, PyTorch and
its compiler, Triton, FlashAttention, FlashInfer, vLLM, TensorRT, XLA, CuPy, and of ROCm's
rocBLAS, hipBLASLt, MIOpen, Composable Kernel and RCCL.
"""

from __future__ import annotations

import enum
import functools
import re

from tailwave.kernel_names import own_name


class KernelKind(enum.StrEnum):
    """What GPU work computes, or that it moves data."""

    MATRIX_PRODUCT = "matrix product"
    ATTENTION = "attention"
    CONVOLUTION = "convolution"
    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"  # softmax, normalisation, pooling and scans too
    COLLECTIVE = "collective"
    COPY = "copy"  # within the GPU too: layouts, gathers and embeddings, concatenations
    OTHER = "other"


# The first that is found decides. A fused kernel is called after its parts: the part that takes
# the time stands before those that ride along with it.
_WORDS: tuple[tuple[KernelKind, str], ...] = (
    (
        KernelKind.COLLECTIVE,
        (
            r"nccl|rccl|mscclkernel|nvshmem|rocshmem|cross_device_reduce"
            r"|all_?(reduce|gather|to_?all)|reduce_?scatter"
        ),
    ),
    # PyTorch's compiler says which of its templates a kernel is made from, before naming all
    # operators in it.
    (KernelKind.ELEMENTWISE, r"^triton_(poi|for)_|elementwise|pointwise"),
    (KernelKind.REDUCTION, r"^triton_(red|per|mix)_"),
    (KernelKind.COPY, r"reshape_and_cache|(store|copy|concat\w*)_kv_?cache"),
    (
        KernelKind.ATTENTION,
        (
            r"flash_?(fwd|bwd|attn|attention|mla)|\bflash::|mha|sdpa|attention|attn|dot_do_o"
            r"|(prefill|decode)with\w*kv|^_(fwd|bwd)_(grouped_)?kernel"
        ),
    ),
    (
        KernelKind.CONVOLUTION,
        (
            r"conv(?!ert)|fprop|[dw]grad|winograd|scudnn|\d+cudnn|implicit_gemm"
            r"|igemm_(fwd|bwd|wrw)|im2(col|d2col)|col2im|fft2d"
        ),
    ),
    (
        KernelKind.MATRIX_PRODUCT,
        (
            r"(?<!fb)gemm|gemv|nvjet|cutlass_\w|cijk_|mat(rix)?_?mul|mul_mat|mmul|fused_moe"
            r"|(?<![a-z])(add|scaled_|badd|b)?mm(?![a-z])|split_?k_?reduce|marlin|machete"
        ),
    ),
    (
        KernelKind.REDUCTION,
        (
            r"reduc|soft_?max|norm|welford|moments|gammabeta|^bn_(fw|bw)|pool(?!ed)|loss"
            r"|arg_?m(ax|in)|top_?k|scan|cum_?(sum|prod)|dot_kernel|histogram"
            r"|(?<![a-z])(sum|mean|prod|amax|amin|nrm2|asum)(?![a-z])"
        ),
    ),
    (
        KernelKind.COPY,
        (
            r"memcpy|memset|(?<!zero)copy|cat_?arr|concat|transpos|permut|gather|scatter"
            r"|index_?(select|put)|(?<!rotary_)embedding|n(chw|hwc)|reformat|reshape|roll_|slice"
            r"|unpack|pad(ding)?_?kernel"
        ),
    ),
    (
        KernelKind.ELEMENTWISE,
        (
            r"functor|^loop_|^wrapped_|fusion(_|\.|\d|$)|^cupy_|rnn_?cell|(gru|lstm)_cell|dropout"
            r"|activation|act_and_mul|[sg]i?e?lu(?![a-z])|relu|glu(?![a-z])|sigmoid|tanh|rotary"
            r"|(?<![a-z])rope|quant|convert|(?<![a-z])cast|fill|axpy|scale_?packed|sum_?(arr|mat)"
            r"|(?<![a-z])(vec(tor)?_?)?(add|sub|mul|div|scal|scale)(?![a-z])"
        ),
    ),
)
_KINDS = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _WORDS)


@functools.lru_cache(maxsize=1 << 16)
def kind_of(name: str) -> KernelKind:
    """Tell what the kernel, copy or memset of this name computes."""
    for text in (own_name(name), name):
        for kind, words in _KINDS:
            if words.search(text):
                return kind
    return KernelKind.OTHER
