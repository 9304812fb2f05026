// Every thread of the selected SMs adds to a word, `stride` bytes from SM to SM.
#include "gate.cuh"
#include "sweep.cuh"

// Adds for all lanes of a warp at once, which is what compilers make of atomicAdd(at, 1) where all
// lanes share the address. Without that, L2 would do the 32 one after the other.
__device__ __forceinline__ void add_for_warp(word *at)
{
    if (threadIdx.x % 32 == 0)
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(32ull) : "memory");
}

extern "C" __global__ void atomics(word *out, word *data, word stride, word iterations,
                                   const word *mask)
{
    if (mask[smid()] != 1)
        return;
    word *target = data + stride / sizeof(word) * smid();
    start_together();
    const word start = now();
    const long long first = clock64();
#pragma unroll 8
    for (word i = 0; i < iterations; ++i)
        add_for_warp(target);
    // Reductions are done when the others would see them.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        report(out, iterations * blockDim.x, start, clock64() - first);
}
