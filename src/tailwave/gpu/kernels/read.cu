// Selected SMs read all of `data` at once, past L1, 16 bytes a thread.
#include "gate.cuh"
#include "sweep.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    read(word *out, Pair *data, word words, word passes, const word *mask)
{
    if (mask[smid()] != 1)
        return;
    const Sweep sweep(data, words);
    const unsigned whole = sweep.whole();
    word sum = 0;
    start_together();
    const word start = now();
    const long long first = clock64();
    for (word pass = 0; pass < passes; ++pass) {
        for (unsigned step = threadIdx.x; step < whole; step += BATCH * blockDim.x)
            sum ^= sweep.read(step);
        for (unsigned step = whole + threadIdx.x; step < sweep.pairs; step += blockDim.x)
            sum ^= load_cg(sweep.at(step)).first;
    }
    wait_for(sum); // it has all that it asked for
    __syncthreads();
    if (threadIdx.x == 0)
        report(out, passes * sweep.pairs * sizeof(Pair), start, clock64() - first);
}
