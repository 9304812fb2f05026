// A CTA's way through memory: from an offset of its own to the end, and on from the beginning.
#pragma once

#include "common.cuh"

// Accesses of 16 bytes that each thread has in flight at once: 1024 threads with eight are 128 KiB,
// several times what an SM needs to reach its own ceiling.
constexpr unsigned BATCH = 8;

struct Sweep {
    Pair *data;
    unsigned pairs, first;

    // The division is done once; steps add and compare.
    __device__ __forceinline__ Sweep(Pair *data, word words)
        : data(data), pairs(static_cast<unsigned>(words / 2)),
          first(static_cast<unsigned>(static_cast<word>(smid() % gridDim.x) * pairs / gridDim.x) &
                ~7u)
    {
    }

    __device__ __forceinline__ Pair *at(unsigned step) const
    {
        const unsigned place = first + step;
        return data + (place < pairs ? place : place - pairs);
    }

    // Steps that whole batches of the CTA cover.
    __device__ __forceinline__ unsigned whole() const
    {
        return pairs / (BATCH * blockDim.x) * (BATCH * blockDim.x);
    }

    // Reads this thread's part of a batch: all loads first, then all uses.
    __device__ __forceinline__ word read(unsigned step) const
    {
        Pair got[BATCH];
#pragma unroll
        for (unsigned i = 0; i < BATCH; ++i)
            got[i] = load_cg(at(step + i * blockDim.x));
        word sum = 0;
#pragma unroll
        for (unsigned i = 0; i < BATCH; ++i)
            sum ^= got[i].first ^ got[i].second;
        return sum;
    }
};

// Writes what a CTA did: amount, start and end (ns), cycles. Thread 0 calls it when all are done.
__device__ __forceinline__ void report(word *out, word amount, word start, long long cycles)
{
    const word end = now();
    word *mine = out + 4 * smid();
    mine[0] = amount;
    mine[1] = start;
    mine[2] = end;
    mine[3] = cycles;
}
