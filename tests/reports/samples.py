"""Diagnoses made by hand, as the rules would hand them to a report."""

from __future__ import annotations

from tailwave.model import (
    DeviceInfo,
    Diagnosis,
    Evidence,
    Finding,
    Severity,
    Share,
    Source,
    StepsSummary,
)

SOURCE = Source(path="decode.json.gz", kind="kineto", events=4605, ranks=(0,))
H200 = DeviceInfo(index=0, name="NVIDIA H200", sm_count=132)
STEPS = StepsSummary(count=3, by="ProfilerStep", median_us=7561.0, gpu_busy_us=405.3)
DIVISION = (
    Share("kernels", "kernels", 403.2),
    Share("copies", "copies", 2.1),
    Share("launch-bound", "waiting for launches", 6910.7),
    Share("host-sync", "after the host waited", 245.0),
    Share("host-starved", "host issued nothing", 0.0),
)
LAUNCH_BOUND = Finding(
    code="launch-bound",
    severity=Severity.CRITICAL,
    title="The host launches kernels more slowly than the GPU runs them",
    claim="The GPU idles 91% of each step because the host issues kernels one at a time.",
    step_us_now=7561.0,
    step_us_after=471.0,
    recoverable_us=7090.0,
    evidence=(
        Evidence("of the step the GPU is busy", 0.0536, "ratio"),
        Evidence("kernels a step", 1312.0, "count"),
        Evidence("of host time for each launch", 5.6, "us"),
        Evidence("The host never waits for the GPU between two launches of this kind."),
    ),
    remedies=("cuda-graph", "compile"),
)
HOST_SYNC = Finding(
    code="host-sync",
    severity=Severity.MINOR,
    title="The host waits for the GPU in the middle of a step",
    claim="aten::item stops the host 2 times a step, and the GPU runs dry each time before "
    "the host has issued the next kernel.",
    step_us_now=7561.0,
    step_us_after=7316.0,
    recoverable_us=245.0,
    evidence=(Evidence("in aten::item, called from sample.py:41", 0.245, "ms"),),
    remedies=("defer-sync",),
)
SMALL_GRID = Finding(
    code="small-grid",
    severity=Severity.INFO,
    title="Grids smaller than the GPU",
    claim="41 kernels a step fill less than half of the SMs.",
    step_us_now=7561.0,
    step_us_after=7549.0,
    recoverable_us=12.0,
)
LAUNCH_BOUND_STEP = Diagnosis(
    source=SOURCE,
    device=H200,
    steps=STEPS,
    division=DIVISION,
    findings=(LAUNCH_BOUND, HOST_SYNC, SMALL_GRID),
    notes=("Recording adds about 2 us to each operator: without it, a step is shorter.",),
)
HEALTHY_STEP = Diagnosis(
    source=SOURCE,
    device=H200,
    steps=StepsSummary(count=3, by="kernel period", median_us=472.4, gpu_busy_us=468.0),
    division=(Share("kernels", "kernels", 468.0), Share("latency", "GPU latency", 4.4)),
    findings=(),
    notes=(),
)
NO_STEPS = Diagnosis(
    source=Source(path="load.json", kind="kineto", events=12, ranks=(3,)),
    device=None,
    steps=None,
    division=(),
    findings=(),
    notes=("The recording holds no GPU work.",),
)
