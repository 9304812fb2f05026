"""The article's two test kernels, as printed, exercise nothing that they claim to.

Its WSP test should make bank conflicts in shared memory, its ARB test contention for an L2 line.
"""

from __future__ import annotations

from tests.gpu.kernels.compiling import each_architecture, source_code
from tests.gpu.kernels.machine_code import counted

_WSP = """
extern "C" __global__ void wsp_test() {
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    if (tid % 32 == 0) __nanosleep(100);
    __shared__ int smem[32];
    smem[threadIdx.x % 32] = tid;
    __syncthreads();
}
"""
_ARB = """
extern "C" __global__ void arb_test() {
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    extern __shared__ char l2_buffer[];
    if (tid < 32) { volatile int* ptr = (int*)(l2_buffer + 0); *ptr = tid; __nanosleep(50); }
}
"""


@each_architecture
def test_wsp_never_touches_shared_memory(architecture: str) -> None:
    """Its store is never read, so the compiler drops it: there is no bank to conflict on."""
    code = counted(source_code(_WSP, architecture), "wsp_test")
    assert (code["LDS"], code["STS"]) == (0, 0)


@each_architecture
def test_arb_never_leaves_its_sm(architecture: str) -> None:
    """Its line "of L2" is shared memory of one SM, stored to once: nothing goes to L2 at all."""
    code = counted(source_code(_ARB, architecture), "arb_test")
    assert code["STS"] == 1
    assert {name: code[name] for name in ("LDG", "STG", "RED", "ATOMG")} == {
        "LDG": 0,
        "STG": 0,
        "RED": 0,
        "ATOMG": 0,
    }
