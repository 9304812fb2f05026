"""CTAs whose threads do not fill their warps: lanes stand idle in every instruction.

What it means:
    A GPU issues instructions to warps of 32 threads (64 on some AMD chips). A CTA of 4 threads is a
    warp with 28 idle lanes, one of 33 threads two warps, the second with 31. Very small CTAs also
    keep an SM empty, since it holds a limited number of CTAs, and are dispatched one by one.

How it is found:
    Threads of a CTA against the size of a warp. A kernel of more CTAs than fit the chip at once
    takes time in proportion to its warps, so it loses the share of warps that whole ones would
    spare, of the time in which it had the GPU to itself above the 2 us of an empty kernel, but no
    more than leaves it one wave. It needs no hardware counters.

What cures it:
    whole-warps: CTAs of a multiple of 32 threads, 128 to 256 as a rule, and as many fewer of them.

What fools it:
    A kernel bound by memory's bandwidth gains less; with very small CTAs hardly any is. What the
    dispatch of millions of CTAs costs comes on top: a kernel of 16 million CTAs of one thread,
    6.92 s on an RTX 2060 Super, took 0.35 to 0.57 ms in CTAs of 1,024.
"""

from __future__ import annotations

import numpy as np

from tailwave.figures import percent
from tailwave.kernel_names import short
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import counted, finding, heaviest_kernels, times, worth
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "partial-warp"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when every warp is whole."""
    gpu, lanes = case.timeline.gpu, case.losses.lanes
    rows = np.flatnonzero(case.gpu_rows & (lanes > 0))
    if len(rows) == 0:
        return None
    lost = case.a_step(lanes[rows].sum())
    brings = worth(forecast, "whole-warps", lost)
    ran, steps = (gpu.end - gpu.start)[rows], len(case.steps)
    worst = rows[np.argmax(lanes[rows])]
    claim = (
        f"{percent(case.a_step(ran.sum()) / case.step_us)} of each step are kernels of part-filled "
        f"warps: {short(case.name_of_gpu(worst))} runs {gpu.grid[worst]:,} CTAs of "
        f"{counted(gpu.block[worst], 'thread', 'threads')}, where a warp has "
        f"{case.device.warp_size}. With whole warps {brings.gain} ({brings.part} less)."
    )
    return finding(
        brings,
        code=CODE,
        title="CTAs have too few threads to fill their warps",
        claim=claim,
        evidence=[
            Evidence("lost to idle lanes", lost, "us"),
            *(
                Evidence(f"{name}, {times(count / steps)}", case.a_step(total), "us")
                for name, total, count in heaviest_kernels(case, rows, ran)
            ),
        ],
        cures=("whole-warps",),
    )
