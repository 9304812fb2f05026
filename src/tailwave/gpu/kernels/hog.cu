// A tenant that fills issue slots: every thread does FMAs for `cycles`.
#include "common.cuh"
#include "fma.cuh"

extern "C" __global__ void __launch_bounds__(1024) hog(word *out, word cycles)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = smid();
    float value = static_cast<float>(threadIdx.x);
    const long long first = clock64();
    while (clock64() - first < static_cast<long long>(cycles)) {
#pragma unroll
        for (int i = 0; i < 64; ++i)
            fma_in_place(value);
    }
    keep(__float_as_uint(value), out + blockIdx.x);
}
