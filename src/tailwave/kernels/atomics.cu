// Every thread of the selected SMs adds to a word, `stride` bytes from SM to SM.
#include "gate.cuh"
#include "sweep.cuh"

// A reduction whose addends differ from lane to lane, so that the compiler cannot make one of 32.
__device__ __forceinline__ void add(word *at, word value)
{
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

extern "C" __global__ void atomics(word *out, word *data, word stride, word iterations,
                                   const word *mask)
{
    if (mask[smid()] != 1)
        return;
    word *target = data + stride / sizeof(word) * smid();
    const word start = start_together();
    const long long first = clock64();
#pragma unroll 8
    for (word i = 0; i < iterations; ++i)
        add(target, threadIdx.x + 1);
    // Reductions are done when the others would see them.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        report(out, iterations * blockDim.x, start, clock64() - first);
}
