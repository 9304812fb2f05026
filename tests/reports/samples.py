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
    StepKernel,
    StepsSummary,
    StepTime,
)

SOURCE = Source(path="decode.json.gz", kind="kineto", events=4605, ranks=(0,))
H200 = DeviceInfo(index=0, name="NVIDIA H200", sm_count=132)
STEPS = StepsSummary(
    count=3,
    by="ProfilerStep",
    mean_us=7561.0,
    median_us=7555.0,
    p90_us=7620.0,
    p99_us=7634.0,
    max_us=7636.0,
    gpu_busy_us=405.3,
    replayed=3,
)
NOW = StepTime(us=7561.0, low_us=7561.0, high_us=7561.0, by="recorded", recorded_us=7561.0)
DIVISION = (
    Share("kernels", "kernels at work", 403.2),
    Share("copies", "only copies", 2.1),
    Share("launch-bound", "idle, waiting for launches", 6910.7),
    Share("host-sync", "idle after the host waited", 245.0),
    Share("host-starved", "idle, host issues nothing", 0.0),
)
LAUNCH_BOUND = Finding(
    code="launch-bound",
    severity=Severity.CRITICAL,
    title="The host issues work more slowly than the GPU runs it",
    claim="The GPU waits for launches 94% of each step; the step's 1312 launches as one CUDA "
    "graph would bring 7.56 ms to 471 us.",
    step_us_now=7561.0,
    step_us_after=471.0,
    recoverable_us=7090.0,
    share=0.9377,
    evidence=(
        Evidence("GPU busy", 0.0536, "ratio"),
        Evidence("launches in the step", 1312.0, "count"),
        Evidence("host time per launch", 5.6, "us"),
        Evidence("the host never waits for the GPU between the first and the last launch"),
    ),
    cures=("cuda-graph", "compile"),
)
HOST_SYNC = Finding(
    code="host-sync",
    severity=Severity.MINOR,
    title="The host stops to wait for the GPU",
    claim="The host waits for the GPU 2 times a step, and the GPU then idles 3% of it; without "
    "the waits 7.56 ms would be 7.32 ms.",
    step_us_now=7561.0,
    step_us_after=7316.0,
    recoverable_us=245.0,
    share=0.0324,
    evidence=(Evidence("idle after cudaStreamSynchronize in aten::item", 0.245, "ms"),),
    cures=("remove-sync",),
)
SMALL_GRID = Finding(
    code="small-grid",
    severity=Severity.INFO,
    title="Grids too small for the chip leave SMs idle",
    claim="41 kernels a step have fewer CTAs than the GPU has SMs.",
    step_us_now=7561.0,
    step_us_after=7549.0,
    recoverable_us=12.0,
    share=0.0016,
    condition="if their work can be split, at best",
)
QUEUED = Finding(
    code="queued",
    severity=Severity.MAJOR,
    title="Work is launched and does not begin",
    claim="The GPU idles 20% of each step while work that was launched does not begin; what kept "
    "it is not recorded.",
    step_us_now=7561.0,
    step_us_after=None,
    recoverable_us=None,
    share=0.2,
)
LAUNCH_BOUND_STEP = Diagnosis(
    source=SOURCE,
    device=H200,
    steps=STEPS,
    division=DIVISION,
    now=NOW,
    costliest=(StepKernel("gemv", "matrix product", 656.0, 310.2, 0.765),),
    findings=(LAUNCH_BOUND, HOST_SYNC, SMALL_GRID),
    notes=("Recording adds about 2 us to each operator: without it, a step is shorter.",),
)
HEALTHY_STEP = Diagnosis(
    source=SOURCE,
    device=H200,
    steps=StepsSummary(
        count=3,
        by="kernel period",
        mean_us=472.4,
        median_us=472.3,
        p90_us=472.8,
        p99_us=472.9,
        max_us=472.9,
        gpu_busy_us=468.0,
        replayed=3,
    ),
    now=StepTime(us=472.4, low_us=472.4, high_us=472.4, by="recorded", recorded_us=472.4),
    division=(
        Share("kernels", "kernels at work", 459.0),
        Share("gpu-latency", "switching from kernel to kernel", 13.4),
    ),
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
