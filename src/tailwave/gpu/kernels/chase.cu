// The least cycles from one SM to each of many L2 lines.
#include "common.cuh"

constexpr unsigned LINE_WORDS = 16;

extern "C" __global__ void chase(word *out, const word *data, word lines, word repeats, word sm)
{
    if (smid() != sm || threadIdx.x != 0)
        return;
    // 0, which the compiler cannot know: it makes an address depend on a value read before,
    // whatever that is.
    const word none = repeats >> 63;
    word value = 0;
    for (word line = 0; line < lines; ++line) {
        word least = ~0ull;
        for (word i = 0; i < repeats; ++i) {
            const word *at = data + LINE_WORDS * line + (value & none);
            const long long start = clock64();
            value = load_cg(at);
            const word cycles = clock_after(value) - start;
            least = cycles < least ? cycles : least;
        }
        out[line] = least;
    }
}
