"""Kernels with fewer CTAs than the chip has SMs: the other SMs stand idle.

What it means:
    A CTA runs on one SM. A grid of 8 CTAs uses 8 of 132 SMs, however long it runs. This is what
    small batches do to big chips.

How it is found:
    Grid size against the SM count. A kernel loses the share of SMs that it leaves idle, of the
    time in which it had the GPU to itself, above the 2 us of an empty kernel: below that no grid
    makes a kernel faster. In a kernel profile: the SMs without a CTA, for as long as the busiest
    one worked.

What cures it:
    split-work: more, smaller CTAs (split-k, another tile size). merge: run independent small
    kernels at once on several streams, or batch them into one. batch-size: more work a launch.

What fools it:
    A kernel bound by the latency of one long chain of instructions does not get faster with more
    CTAs, and a memory-bound one stops gaining when memory is saturated, so the loss is an upper
    bound. Time in which another kernel used the idle SMs is not counted.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import (
    counted,
    finding,
    heaviest_kernels,
    times,
    worth,
)
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.case import Case

CODE = "small-grid"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when its small grids use every SM."""
    rows = np.flatnonzero(case.gpu_rows & (case.losses.small > 0))
    if len(rows) == 0:
        return None
    gpu, ns = case.timeline.gpu, case.losses.small[rows]
    lost, often = case.a_step(ns.sum()), len(rows) / len(case.steps)
    brings = worth(forecast, "no-small-grid", lost)
    typical = int(np.median(gpu.grid[rows]))
    kernels = counted(often, "kernel a step has", "kernels a step have")
    claim = (
        f"{kernels} fewer CTAs than the GPU has SMs (typically {typical} on "
        f"{case.device.sm_count}); spread over all SMs, at best {brings.gain} "
        f"({brings.part} less)."
    )
    evidence = [
        Evidence("lost to idle SMs, at most", lost, "us"),
        Evidence("kernels concerned", often, "count"),
    ]
    for name, total, count in heaviest_kernels(case, rows, ns):
        each = times(count / len(case.steps))
        evidence.append(Evidence(f"{name}, {each}", case.a_step(total), "us"))
    return finding(
        brings,
        code=CODE,
        title="Grids too small for the chip leave SMs idle",
        claim=claim,
        evidence=evidence,
        cures=("split-work", "merge-small-grids"),
    )
