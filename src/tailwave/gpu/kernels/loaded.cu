// One SM times single loads while others stream the same data.
#include "gate.cuh"
#include "sweep.cuh"

enum Role { IDLE, AGGRESSOR, VICTIM };

constexpr unsigned LINE_WORDS = 16;
// Aggressors look for the end after so many batches.
constexpr unsigned LOOK_AFTER = 16;
// Time that the aggressors get to reach their pace before the victim's first sample (ns).
constexpr word RUN_UP_NS = 10'000;

// The start of the last launch whose victim is done. Later launches start later.
__device__ word finished;

__device__ __forceinline__ void stream(word *out, const Sweep &sweep, word start)
{
    const unsigned whole = sweep.whole();
    word sum = 0;
    unsigned batches = 0;
    for (unsigned step = threadIdx.x; whole != 0;) {
        sum ^= sweep.read(step);
        step += BATCH * blockDim.x;
        step = step < whole ? step : threadIdx.x;
        if (++batches % LOOK_AFTER == 0 &&
            (load_shared_by_all(&finished) >= start || now() > start + PATIENCE_NS))
            break;
    }
    keep(sum, out);
}

// A line by its number in a sequence that visits the slices of L2 in no order.
__device__ __forceinline__ const word *line_of(const word *data, word lines, word number)
{
    const unsigned mixed = static_cast<unsigned>(number) * 2654435761u;
    return data + LINE_WORDS * (mixed * lines >> 32);
}

// Brings the lines that will be timed into L2.
__device__ __forceinline__ void warm(const word *data, word lines, word samples)
{
    word sum = 0;
    for (word i = threadIdx.x; i < samples; i += blockDim.x)
        sum ^= load_cg(line_of(data, lines, i));
    wait_for(sum);
}

__device__ __forceinline__ void sample(word *out, const word *data, word lines, word samples)
{
    const word none = samples >> 63; // 0, which the compiler cannot know
    const word end = now() + PATIENCE_NS;
    word value = 0;
    for (word i = 0; i < samples && now() < end; ++i) {
        const word *at = line_of(data, lines, i) + (value & none);
        const long long first = clock64();
        value = load_cg(at);
        out[i] = clock_after(value) - first;
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    loaded(word *out, word *data, word words, word samples, const word *role)
{
    const word mine = role[smid()];
    if (mine == IDLE)
        return;
    if (mine == VICTIM)
        warm(data, words / LINE_WORDS, samples);
    const word start = start_together();
    if (mine == AGGRESSOR) {
        if (threadIdx.x == 0)
            atomicAdd(out + samples, 1);
        stream(out, Sweep(reinterpret_cast<Pair *>(data), words), start);
    } else if (threadIdx.x == 0) {
        wait_until(start + RUN_UP_NS);
        sample(out, data, words / LINE_WORDS, samples);
        store_shared_by_all(&finished, start);
    }
}
