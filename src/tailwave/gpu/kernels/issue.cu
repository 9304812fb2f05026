// All warps of a CTA repeat one thing; reads the SM's clock at the first warp's start and the last
// warp's end. An SM with several CTAs may let one run ahead: they are timed from the first start to
// the last end of them all.
#include "common.cuh"
#include "fma.cuh"

enum Kind { INDEPENDENT, DEPENDENT, SLEEP, BARRIER };

// FMAs in one turn of the loop: so many that its own few instructions are 2% of the work.
constexpr unsigned TURN = 256;
// Independent chains: more than an FMA has cycles of latency (4 or 5).
constexpr unsigned CHAINS = 8;

// Iterations before those that are timed.
constexpr unsigned WARM = 8;

template <unsigned chains> __device__ __forceinline__ void multiply_add(unsigned iterations)
{
    float values[chains];
#pragma unroll
    for (unsigned i = 0; i < chains; ++i)
        values[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
    for (unsigned done = 0; done < iterations; done += TURN) {
#pragma unroll
        for (unsigned i = 0; i < TURN; ++i)
            fma_in_place(values[i % chains]);
    }
#pragma unroll
    for (unsigned i = 0; i < chains; ++i)
        wait_for(__float_as_uint(values[i]));
}

__device__ __forceinline__ void repeat(word kind, unsigned iterations)
{
    if (kind == INDEPENDENT)
        multiply_add<CHAINS>(iterations);
    else if (kind == DEPENDENT)
        multiply_add<1>(iterations);
    else if (kind == SLEEP)
        for (unsigned i = 0; i < iterations; ++i)
            __nanosleep(100);
    else
#pragma unroll 8
        for (unsigned i = 0; i < iterations; ++i)
            __syncthreads();
}

extern "C" __global__ void __launch_bounds__(1024) issue(word *out, word kind, word iterations)
{
    __shared__ word first, last;
    if (threadIdx.x == 0) {
        first = ~0ull;
        last = 0;
    }
    word start = 0;
    // The first time round brings the code into the instruction caches.
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
        __syncthreads();
        start = clock64();
        repeat(kind, round == 0 ? WARM : static_cast<unsigned>(iterations));
    }
    const word end = clock64();
    if (threadIdx.x % 32 == 0) {
        atomicMin(&first, start);
        atomicMax(&last, end);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        word *mine = out + 3 * blockIdx.x;
        mine[0] = smid();
        mine[1] = first;
        mine[2] = last;
    }
}
