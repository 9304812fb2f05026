// One SM writes a word that others poll; each answers once it has seen it.
#include "common.cuh"

// Words of `flag`: the word that is polled; on a line of its own the CTAs that have arrived, with
// the pollers among them counted in the upper half, and the answers. All are 0 before, and after.
enum { POLLED = 0, ARRIVED = 16, ANSWERS = 17 };

constexpr word A_POLLER = 1ull << 32;

// Waits until every CTA of the grid has come; returns the number of pollers, or 0 after too long.
__device__ __forceinline__ word pollers_of(word *flag, Patience &patience)
{
    word arrived;
    do {
        arrived = load_shared_by_all(flag + ARRIVED);
        if (patience.over())
            return 0;
    } while (arrived % A_POLLER != gridDim.x);
    return arrived / A_POLLER;
}

// The SM's clock is finer than the time, so cycles are counted, and turned into ns at the end.
__device__ __forceinline__ void in_ns(word *out, word rounds, double ns_per_cycle)
{
    for (word round = 0; round < rounds; ++round)
        out[round] = static_cast<word>(out[round] * ns_per_cycle + 0.5);
}

__device__ __forceinline__ void write(word *out, word *flag, word rounds)
{
    Patience patience;
    const word pollers = pollers_of(flag, patience);
    if (pollers == 0)
        return;
    const word start = next_step();
    const long long first = clock64();
    word round = 0;
    for (; round < rounds; ++round) {
        const long long begun = clock64();
        store_shared_by_all(flag + POLLED, round + 1);
        if (!await(flag + ANSWERS, pollers * (round + 1), patience))
            break;
        out[round] = clock64() - begun;
    }
    const word end = next_step();
    in_ns(out, round, static_cast<double>(end - start) / (clock64() - first));
    if (round == rounds)
        flag[POLLED] = flag[ARRIVED] = flag[ANSWERS] = 0;
}

__device__ __forceinline__ void answer(word *flag, word rounds)
{
    Patience patience;
    for (word round = 0; round < rounds; ++round) {
        if (!await(flag + POLLED, round + 1, patience))
            return;
        atomicAdd(flag + ANSWERS, 1);
    }
}

extern "C" __global__ void poll(word *out, word *flag, word rounds, word writer, const word *mask)
{
    if (threadIdx.x != 0)
        return;
    const unsigned mine = smid();
    const bool polls = mine != writer && mask[mine] == 1;
    atomicAdd(flag + ARRIVED, polls ? A_POLLER + 1 : 1);
    if (mine == writer)
        write(out, flag, rounds);
    else if (polls)
        answer(flag, rounds);
}
