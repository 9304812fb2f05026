// Reads one word of every page of 4 KiB, and adds the number of pages to `out[0]`.
#include "common.cuh"

constexpr word PAGE_WORDS = 512;

extern "C" __global__ void touch(word *out, const word *data, word words)
{
    const word threads = static_cast<word>(gridDim.x) * blockDim.x;
    const word thread = static_cast<word>(blockIdx.x) * blockDim.x + threadIdx.x;
    word sum = 0, pages = 0;
    for (word at = thread * PAGE_WORDS; at < words; at += threads * PAGE_WORDS) {
        sum ^= load_cg(data + at);
        ++pages;
    }
    wait_for(sum);
    atomicAdd(out, pages);
}
