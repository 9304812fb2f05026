"""Predictions made by hand, as the what-ifs would hand them to a report."""

from __future__ import annotations

from tailwave.model import Prediction, Predictions, StepTime
from tests.reports.samples import H200, SOURCE, STEPS

NOW = 3_640.0
STEP_TIME = StepTime(
    us=NOW, low_us=2_190.0, high_us=6_040.0, by="estimated", recorded_us=STEPS.mean_us
)


def prediction(
    *names: str, after: float, notes: tuple[str, ...] = (), condition: str = ""
) -> Prediction:
    """Answer the what-ifs of some names from the step that all samples have."""
    return Prediction(
        names=names,
        question="; ".join(f"what {name} asks" for name in names),
        step_us_now=NOW,
        step_us_after=after,
        recoverable_us=NOW - after,
        notes=notes,
        condition=condition,
    )


CUT = "a graph cannot hold cudaStreamSynchronize (30 a step): each cuts it in two"
EACH_ALONE = Predictions(
    source=SOURCE,
    device=H200,
    steps=STEPS,
    now=STEP_TIME,
    what_ifs=(
        prediction("cuda-graph", after=1_200.0, notes=(CUT,)),
        prediction("no-sync", after=2_900.0),
        prediction("no-input-stall", after=3_635.0, notes=("not worth a line",)),
        prediction("no-wave-tail", after=3_640.0),
        prediction("no-interference", after=4_004.0),
    ),
    combined=prediction("no-sync", "cuda-graph", after=455.0),
    notes=("1 of 3 steps left out: the recording begins or ends within them.",),
)
ONE = Predictions(
    source=SOURCE,
    device=None,
    steps=STEPS,
    now=STEP_TIME,
    what_ifs=(
        prediction("sm-count=64", "cuda-graph", after=455.0, notes=("kernels: 9 by waves", CUT)),
    ),
    combined=None,
    notes=(),
)
