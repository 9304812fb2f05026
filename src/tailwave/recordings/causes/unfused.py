"""Elementwise kernels follow each other, and each reads again what the one before it wrote.

What it means:
    An elementwise kernel does little with each value, so its time is that of moving the data from
    memory and back. A run of them moves it once for each; one fused kernel moves it once, and is
    launched once.

How it is found:
    Kernels whose names say that they are elementwise, one right after the other in a stream and a
    step. The gain comes from a replay in which each run is one kernel, as long as its longest.
    Kernels that a compiler has fused, and those that take many tensors at once, stay as they are.

What cures it:
    compile: torch.compile, jax.jit or cupy.fuse make one kernel of a run; by hand, one kernel in
    CUDA or Triton, or a library's fused layer (normalisation, rotary embedding, activation).

What fools it:
    Whether neighbours work on the same data is not recorded. Those that do not gain the launches
    alone. A kernel's name may also hide what could be fused into it: matrix products can take the
    elementwise work that follows them.
"""

from __future__ import annotations

import numpy as np

from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import counted, finding, heaviest_kernels, times, worth
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.gpu_changes import fuse
from tailwave.recordings.timeline.case import Case

CODE = "unfused"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when each run of elementwise kernels is one."""
    program, (fused, _) = forecast.likely, forecast.changed(fuse)
    spared = np.flatnonzero((program.row_step >= 0) & ~np.isin(program.row, fused.row))
    if len(spared) == 0:
        return None
    steps = program.weight.sum()
    weight = program.weight[program.row_step[spared]] / steps
    brings = worth(forecast, "fuse", float(program.duration[spared] @ weight) / 1e3)
    follow = counted(weight.sum(), "elementwise kernel follows", "elementwise kernels follow")
    condition = f", {brings.condition}" if brings.condition else ""
    claim = (
        f"{follow} right after another in each step, moving the data again; each run fused into "
        f"one kernel, {brings.gain} ({brings.part} less){condition}."
    )
    ns = program.duration[spared] * weight
    return finding(
        brings,
        code=CODE,
        title="Elementwise kernels are not fused",
        claim=claim,
        evidence=[
            Evidence(f"{name}, {times(count / steps)}", total / 1e3, "us")
            for name, total, count in heaviest_kernels(case, program.row[spared], ns)
        ],
        cures=("compile",),
    )
