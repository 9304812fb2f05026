"""The last wave of a grid is part-filled: most SMs idle while a few finish.

What it means:
    A GPU runs as many CTAs at once as fit its SMs: a wave. A grid of 133 CTAs on 132 SMs takes
    two waves, and in the second one SM works while 131 wait. The bigger the chip, the more CTAs
    a wave holds, and the more a part-filled one costs.

How it is found:
    CTAs per SM follow from registers, shared memory and threads of the kernel and the limits of
    the chip; waves are the grid over CTAs per SM times SMs. A kernel loses
    1 - waves / ceil(waves) of the time in which it had the GPU to itself, above the 2 us
    of an empty kernel. In a kernel profile: by CTAs that do not divide by the SMs, and never more
    than SMs were counted idle (sm__cycles_active, mean against the busiest).

What cures it:
    whole-waves: a grid that is a multiple of a wave (another tile size, split-k, stream-k).
    persistent-kernel: as many CTAs as fit, each taking tiles until none is left. batch-size: one
    that fills the last wave.

What fools it:
    CTAs of unequal length fill the tail by themselves, so the loss is an upper bound. Kernels of
    other streams can fill it too, so only time alone on the GPU counts.
"""

from __future__ import annotations

import numpy as np

from tailwave.kernel_names import short
from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, worth
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "wave-tail"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when every wave is whole."""
    rows = np.flatnonzero(case.gpu_rows & (case.losses.tail > 0))
    if len(rows) == 0:
        return None
    lost = case.a_step(case.losses.tail[rows].sum())
    brings = worth(forecast, "no-wave-tail", lost)
    worst = int(rows[np.argmax(case.losses.tail[rows])])
    gpu, fits = case.timeline.gpu, case.residency
    claim = (
        f"Part-filled last waves cost up to {brings.part} of each step; the worst "
        f"kernel has {gpu.grid[worst]} CTAs where {_wave(case, worst)} make a wave. With whole "
        f"waves {brings.gain}."
    )
    return finding(
        brings,
        code=CODE,
        title="The last wave of CTAs leaves most SMs idle",
        claim=claim,
        evidence=[
            Evidence("lost in part-filled waves", lost, "us"),
            Evidence("kernels concerned", len(rows) / len(case.steps), "count"),
            Evidence(f"lost by {short(case.name_of_gpu(worst))}", _same(case, worst), "us"),
            Evidence("its waves", float(fits.waves[worst]), "waves"),
            Evidence("its CTAs per SM", float(fits.ctas_per_sm[worst]), "CTAs"),
        ],
        cures=("whole-waves", "persistent-kernel"),
    )


def _wave(case: Case, row: int) -> int:
    return int(case.residency.ctas_per_sm[row] * case.device.sm_count)


def _same(case: Case, row: int) -> float:
    """What all kernels of this name lost in a step (us)."""
    same = case.gpu_rows & (case.timeline.gpu.name == case.timeline.gpu.name[row])
    return case.a_step(case.losses.tail[same].sum())
