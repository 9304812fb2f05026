// One line goes to and fro between two SMs. `flag` is 0 before, and after.
#include "common.cuh"

// Round 0 only brings the two together; the time runs from round 1.
__device__ __forceinline__ void serve(word *out, word *flag, word rounds)
{
    Patience patience;
    long long first = 0;
    for (word round = 0; round <= rounds; ++round) {
        if (round == 1)
            first = clock64();
        store_shared_by_all(flag, 2 * round + 1);
        if (!await(flag, 2 * round + 2, patience))
            return;
    }
    out[0] = clock64() - first;
    store_shared_by_all(flag, 0);
}

__device__ __forceinline__ void answer(word *flag, word rounds)
{
    Patience patience;
    for (word round = 0; round <= rounds; ++round) {
        if (!await(flag, 2 * round + 1, patience))
            return;
        store_shared_by_all(flag, 2 * round + 2);
    }
}

extern "C" __global__ void pingpong(word *out, word *flag, word rounds, word sm_a, word sm_b)
{
    const unsigned mine = smid();
    if (threadIdx.x != 0)
        return;
    if (mine == sm_a)
        serve(out, flag, rounds);
    else if (mine == sm_b)
        answer(flag, rounds);
}
