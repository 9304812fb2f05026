// Selected SMs write all of `data` at once, 16 bytes a thread.
#include "gate.cuh"
#include "sweep.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    write(word *out, Pair *data, word words, word passes, const word *mask)
{
    if (mask[smid()] != 1)
        return;
    const Sweep sweep(data, words);
    const unsigned whole = sweep.whole();
    start_together();
    const word start = now();
    const long long first = clock64();
    for (word pass = 0; pass < passes; ++pass) {
        const Pair value = {pass, threadIdx.x};
        for (unsigned step = threadIdx.x; step < whole; step += BATCH * blockDim.x) {
#pragma unroll
            for (unsigned i = 0; i < BATCH; ++i)
                store_cg(sweep.at(step + i * blockDim.x), value);
        }
        for (unsigned step = whole + threadIdx.x; step < sweep.pairs; step += blockDim.x)
            store_cg(sweep.at(step), value);
    }
    // Stores are done when the others would see them.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        report(out, passes * sweep.pairs * sizeof(Pair), start, clock64() - first);
}
