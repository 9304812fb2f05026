"""The optimizer updates parameter by parameter instead of all in one pass.

What it means:
    A step of the optimizer that goes from parameter to parameter launches several small kernels
    for each, and reads and writes its state once for each of them. One fused kernel does the same
    in a single pass.

How it is found:
    The kernels launched within the framework's mark of the optimizer's step, several of the same
    name. The gain comes from a replay in which one kernel takes their place, as long as the mean
    pass of theirs.

What cures it:
    fused-optimizer: torch.optim.AdamW(..., fused=True), or foreach=True where that is not to be
    had.

What fools it:
    An optimizer whose state does not fit beside what else the kernel needs. A recording without
    the framework's marks shows none.
"""

from __future__ import annotations

from tailwave.model import Evidence, Finding
from tailwave.recordings.causes.build import finding, worth
from tailwave.recordings.replay.change import issues
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.gpu_changes import fused_optimizer
from tailwave.recordings.timeline.case import Case

CODE = "looped-optimizer"


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when one kernel updates all parameters."""
    brings = worth(forecast, "fused-optimizer", 0.0)
    if not brings.share:
        return None
    changed, _ = forecast.changed(fused_optimizer)
    fewer = int(issues(forecast.likely).sum() - issues(changed).sum()) / len(case.steps)
    claim = (
        f"The optimizer updates parameter by parameter: {fewer:.0f} launches a step that one fused "
        f"kernel spares; fused, {brings.gain} ({brings.part} less)."
    )
    return finding(
        brings,
        code=CODE,
        title="The optimizer launches kernel by kernel",
        claim=claim,
        evidence=[Evidence("launches that a fused optimizer spares", fewer, "count")],
        cures=("fused-optimizer",),
    )
