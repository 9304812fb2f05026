// One warp goes to shared memory again and again, its lanes `stride` words apart.
#include "common.cuh"

enum Mode { LOADS, STORES, PADDED, SWIZZLED };

constexpr unsigned BANKS = 32;
constexpr unsigned WORDS = 2048; // holds 32 lanes 64 words apart, padding included

// The word that a lane goes to. Rows are as wide as there are banks.
__device__ __forceinline__ unsigned place(unsigned stride, word mode)
{
    const unsigned plain = threadIdx.x * stride;
    const unsigned row = plain / BANKS, column = plain % BANKS;
    unsigned found = plain;
    if (mode == PADDED)
        found = row * (BANKS + 1) + column;
    else if (mode == SWIZZLED)
        found = row * BANKS + (column ^ row % BANKS);
    return found % WORDS;
}

__device__ __forceinline__ unsigned load_shared(unsigned address)
{
    unsigned value;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_shared(unsigned address, unsigned value)
{
    asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

// Each load gives the next one's address: its own again.
__device__ __forceinline__ long long loads(unsigned address, word iterations)
{
    store_shared(address, address);
    const long long first = clock64();
#pragma unroll 16
    for (word i = 0; i < iterations; ++i)
        address = load_shared(address);
    return clock_after(address) - first;
}

// Stores give nothing to depend on: they queue up, and a load behind them waits for all.
__device__ __forceinline__ long long stores(unsigned address, word iterations)
{
    const long long first = clock64();
#pragma unroll 16
    for (word i = 0; i < iterations; ++i)
        store_shared(address, address + static_cast<unsigned>(i));
    return clock_after(load_shared(address)) - first;
}

extern "C" __global__ void banks(word *out, word stride, word iterations, word mode)
{
    __shared__ unsigned memory[WORDS];
    if (threadIdx.x >= 32)
        return;
    const auto base = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const unsigned address = base + 4 * place(static_cast<unsigned>(stride), mode);
    const long long cycles = mode == STORES ? stores(address, iterations) : loads(address, iterations);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = smid();
        out[2 * blockIdx.x + 1] = cycles;
    }
}
