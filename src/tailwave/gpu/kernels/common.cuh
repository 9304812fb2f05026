// What the kernels share: words, where and when a thread runs, loads past L1, ends of waits.
#pragma once

typedef unsigned long long word;

struct alignas(16) Pair {
    word first, second;
};

// The longest that anything waits for another SM (ns).
constexpr word PATIENCE_NS = 100'000'000;

__device__ __forceinline__ unsigned smid()
{
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

// The time that all SMs share, in ns. It steps: by 32 ns on some GPUs, by 1024 ns on others.
__device__ __forceinline__ word now()
{
    word time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

// The next step of the time, so that what begins there is not off by up to a step.
__device__ __forceinline__ word next_step()
{
    const word before = now();
    word time;
    do
        time = now();
    while (time == before);
    return time;
}

__device__ __forceinline__ word load_cg(const word *at)
{
    word value;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ Pair load_cg(const Pair *at)
{
    Pair value;
    asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];"
                 : "=l"(value.first), "=l"(value.second)
                 : "l"(at)
                 : "memory");
    return value;
}

__device__ __forceinline__ void store_cg(Pair *at, Pair value)
{
    asm volatile("st.global.cg.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.first),
                 "l"(value.second)
                 : "memory");
}

// A load and a store that other SMs' stores and loads meet at L2.
__device__ __forceinline__ word load_shared_by_all(const word *at)
{
    word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void store_shared_by_all(word *at, word value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

// A value that nothing has, as far as compilers know that one might.
constexpr word NEVER = 0x9e3779b9;

// Makes a thread wait for a value: all that comes after depends on it. An assembler that finds a
// value unused drops even a volatile load or FMA, so what is timed or must be done ends here.
__device__ __forceinline__ void wait_for(word value)
{
    if (value == NEVER)
        asm volatile("exit;");
}

// The same for a thread that has nothing left to do, and so would end either way.
__device__ __forceinline__ void keep(word value, word *out)
{
    if (value == NEVER)
        *out = value;
}

__device__ __forceinline__ long long clock_after(word value)
{
    wait_for(value);
    return clock64();
}

// Ends waits for a partner that never comes. The time is read seldom, for reading it takes longer
// than a look at the flag.
struct Patience {
    word ends = now() + PATIENCE_NS;
    unsigned looks = 0;

    __device__ __forceinline__ bool over()
    {
        return (++looks & 255u) == 0 && now() > ends;
    }
};

// Waits until `flag` holds `value`; false if patience was over first.
__device__ __forceinline__ bool await(const word *flag, word value, Patience &patience)
{
    while (load_shared_by_all(flag) != value)
        if (patience.over())
            return false;
    return true;
}
