// Thread 0 spins for `ns`, from one step of the time to another, and counts the cycles between.
#include "common.cuh"

extern "C" __global__ void spin(word *out, word ns)
{
    if (threadIdx.x != 0)
        return;
    const word start = next_step();
    const long long first = clock64();
    word end;
    do
        end = now();
    while (end - start < ns);
    const long long last = clock64();
    word *mine = out + 4 * blockIdx.x;
    mine[0] = smid();
    mine[1] = start;
    mine[2] = end;
    mine[3] = last - first;
}
