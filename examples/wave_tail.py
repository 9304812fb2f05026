"""One block more than the GPU has room for: the last wave runs it alone.

    python examples/wave_tail.py [--json]

A kernel of which one block fills an SM (it keeps many numbers in registers), so that as many blocks
run at once as there are SMs. Before: the work is cut into one block more than that, and the last
one runs when all others are done. After: the same work is cut into as many blocks as run at once.
The number comes from the device and the compiled kernel. Needs tailwave[cuda] and a GPU, no
PyTorch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import showing

from tailwave.cures.library.gpu import Gpu, on_current_gpu
from tailwave.errors import UnavailableError

THREADS = 1024
ROUNDS, RUNS = 3, 120
TURNS_OF_A_BLOCK = 20_000  # of the loop below, where the work is cut to fit: some milliseconds

# 48 sums a thread, each in a register of its own: an SM's registers are then full with one block.
SOURCE = """
constexpr int SUMS = 48;

extern "C" __global__ void __launch_bounds__(1024, 1)
turns(float *out, unsigned long long all, float factor)
{
    const unsigned long long first = all * blockIdx.x / gridDim.x;
    const unsigned long long last = all * (blockIdx.x + 1) / gridDim.x;
    float sums[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        sums[i] = threadIdx.x + i;
#pragma unroll 1
    for (unsigned long long turn = first; turn < last; ++turn)
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            sums[i] = fmaf(sums[i], factor, 1.0f);
    float total = 0;
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        total += sums[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
"""


class Kernel(NamedTuple):
    """The compiled kernel on its GPU, and how many of its blocks run at once."""

    gpu: str
    sm_count: int
    wave: int
    launch: Callable[[int, int], None]  # blocks, turns in all; waits for the end


def compiled(gpu: Gpu) -> Kernel:
    """Compile the kernel; raises UnavailableError where none of its blocks fits an SM."""
    core, device = gpu.libraries.core, gpu.core
    options = core.ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    kernel = core.Program(SOURCE, "c++", options).compile("cubin").get_kernel("turns")
    per_sm = kernel.occupancy.max_active_blocks_per_multiprocessor(THREADS, 0)
    if per_sm < 1:
        raise UnavailableError(f"An SM of the {device.name} has no room for {THREADS} threads.")
    sm_count = device.properties.multiprocessor_count
    wave = per_sm * sm_count
    stream = device.create_stream()
    out = device.allocate(4 * THREADS * (wave + 1), stream=stream)

    def launch(blocks: int, turns: int) -> None:
        config = core.LaunchConfig(grid=blocks, block=THREADS)
        core.launch(stream, config, kernel, out, np.uint64(turns), np.float32(0.999))
        stream.sync()

    return Kernel(device.name, sm_count, wave, launch)


def taken(kernel: Kernel, blocks: int, runs: int) -> list[float]:
    """Return how long each run took (us), launch and wait with it."""
    work = TURNS_OF_A_BLOCK * kernel.wave
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        kernel.launch(blocks, work)
        times.append((time.perf_counter() - begun) * 1e6)
    return times


def show() -> showing.Shown:
    """Measure both in turns."""
    with on_current_gpu() as gpu:
        return compare(compiled(gpu), ROUNDS, RUNS)


def compare(kernel: Kernel, rounds: int, runs: int) -> showing.Shown:
    """Measure the work in one block too many, and in those that fit."""
    tail: list[float] = []
    whole: list[float] = []
    for blocks in (kernel.wave + 1, kernel.wave):
        taken(kernel, blocks, showing.WARM_UPS)
    for _ in range(rounds):
        tail += taken(kernel, kernel.wave + 1, runs)
        whole += taken(kernel, kernel.wave, runs)
    before = showing.Row(f"before: {kernel.wave + 1} blocks on {kernel.sm_count} SMs", tuple(tail))
    after = showing.Row(f"after: {kernel.wave} blocks on {kernel.sm_count} SMs", tuple(whole))
    sentence = (
        f"The same work takes {showing.times_better(before.p50, after.p50)} less in "
        f"{kernel.wave} blocks, which all run at once, than in {kernel.wave + 1} (p99 "
        f"{showing.times_better(before.p99, after.p99)})."
    )
    return showing.Shown(kernel.gpu, (before, after), sentence)


if __name__ == "__main__":
    raise SystemExit(showing.run(__doc__, show))
