"""A trial to be rendered: one cure kept, and one of every other decision."""

from __future__ import annotations

from tailwave.model import (
    Baseline,
    Decision,
    Effect,
    Mechanism,
    MetricInfo,
    Outcome,
    OutputMatch,
    Outputs,
    Quantile,
    Restored,
    Trial,
)


def median(before: float, change: float, low: float | None, high: float | None) -> Effect:
    """Return an effect on the median step."""
    return Effect(Quantile.MEDIAN, before, before * (1 + change), "us", change, low, high)


def tail(before: float, change: float, low: float | None, high: float | None) -> Effect:
    """Return an effect on the slowest steps."""
    return Effect(Quantile.TAIL, before, before * (1 + change), "us", change, low, high)


KEPT = Outcome(
    cure="cuda-graph",
    label="the step as a CUDA graph",
    decision=Decision.KEPT,
    why="The median is better beyond noise.",
    effects=(median(2460, -0.7764, -0.79, -0.76), tail(2600, -0.75, -0.78, -0.71)),
    rounds=6,
    bound=0.82,
    mechanism=Mechanism(seen=True, detail="40 replays of 1 graph."),
    outputs=Outputs(OutputMatch.CLOSE, "logits differs by <0.1% of its largest value"),
    lines=("import tailwave", "step = tailwave.graph(step, *example_args)"),
)
NO_GAIN = Outcome(
    cure="module-loading:EAGER",
    label="when kernels are loaded (EAGER)",
    decision=Decision.NO_GAIN,
    why="After 3 rounds its 95% interval does not reach a gain of 2%.",
    effects=(median(2460, 0.002, -0.011, 0.015),),
    rounds=3,
    bound=0.0,
    mechanism=Mechanism(seen=True, detail="The driver's mode is EAGER."),
    outputs=Outputs(OutputMatch.EQUAL),
)
HARMFUL = Outcome(
    cure="prefetch:64",
    label="workers of the DataLoader (64)",
    decision=Decision.HARMFUL,
    why="With it the program fails: it exited with 1: MemoryError",
)
NOT_APPLICABLE = Outcome(
    cure="mps-share:50",
    label="percent of the SMs under MPS (50)",
    decision=Decision.NOT_APPLICABLE,
    why="It did not take hold: no MPS server was seen.",
    effects=(median(2460, -0.001, None, None),),
    rounds=1,
    mechanism=Mechanism(seen=False, detail="no MPS server was seen."),
)
TRIAL = Trial(
    command=("python", "decode.py", "--prompt", "two words"),
    started="2026-11-29T15:00:00+00:00",
    seconds=312.0,
    gpu="NVIDIA H200",
    driver="580.159",
    metric=MetricInfo("time of a step, by the program's marks and CUDA events", "us"),
    rounds=6,
    baseline=Baseline(2460.0, 2600.0, 150),
    null=(median(2460, 0.001, -0.004, 0.006), tail(2600, 0.01, -0.03, 0.05)),
    restored=Restored(2470.0, 2410.0, 2510.0, agrees=True),
    outcomes=(KEPT, NO_GAIN, HARMFUL, NOT_APPLICABLE),
    notes=("The power cap holds the clock of GPU 0 down: the figures are for this cap.",),
)
