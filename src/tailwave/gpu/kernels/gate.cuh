// A start that all CTAs of a launch share, found without waiting for one another.
#pragma once

#include "common.cuh"

// How far ahead of the first CTA the start lies (ns): time enough for the others to be dispatched.
constexpr word AHEAD_NS = 30'000;

__device__ word gate;

// Returns the time of the common start, which lies ahead. The first CTA to find the gate in the
// past, where the launch before has left it, moves it; who comes later than that starts alone.
__device__ __forceinline__ word common_start()
{
    word opens = load_shared_by_all(&gate);
    for (word time = now(); opens <= time; time = now()) {
        const word seen = atomicCAS(&gate, opens, time + AHEAD_NS);
        opens = seen == opens ? time + AHEAD_NS : seen;
    }
    return opens;
}

__device__ __forceinline__ void wait_until(word time)
{
    while (now() < time)
        ;
}

// Holds a whole CTA until the common start, and returns that.
__device__ __forceinline__ word start_together()
{
    __shared__ word opens;
    if (threadIdx.x == 0)
        opens = common_start();
    __syncthreads();
    wait_until(opens);
    __syncthreads();
    return opens;
}
