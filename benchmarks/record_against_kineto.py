"""Holds a recording of ``tailwave record`` by CUPTI against Kineto's trace of the same program.

    python3 -m benchmarks.record_against_kineto --out benchmarks/results/record_kineto_h200.json

The program trains a small network whose loss the host reads each step. It runs once under each
recorder. Both recordings are diagnosed: the first finding has to be the same one. Of each the GPU
time of a step's kernels is compared, in all and kernel by kernel: within 1% in all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.provenance import provenance
from tailwave.model import GpuKind, Timeline
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tailwave.recordings.timeline.steps import find_steps

WARM, STEPS = 10, 20
NEAR = 0.01


def program(trace: Path | None) -> None:
    """Train; under Kineto where a trace is wanted."""
    if trace is None:  # tailwave records by CUPTI where another package than torch comes first
        import cuda.bindings.driver  # noqa: F401, PLC0415

    import torch  # noqa: PLC0415 - only the program needs it
    from torch.profiler import ProfilerActivity, profile, schedule  # noqa: PLC0415

    import tailwave  # noqa: PLC0415

    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    batch = torch.randn(512, 1024, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()
        tailwave.step()

    for _ in range(WARM):
        step()
    if trace is None:
        for _ in range(STEPS):
            step()
        return
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    once = schedule(wait=0, warmup=2, active=STEPS, repeat=1)

    def write(profiler: profile) -> None:
        profiler.export_chrome_trace(str(trace))

    with profile(activities=both, schedule=once, on_trace_ready=write) as profiler:
        for _ in range(STEPS + 2):
            step()
            profiler.step()


def kernel_times(timeline: Timeline) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return a step's kernel time (us), and by name a step's launches and its time (us).

    Each is the median of the last steps, which are warm.
    """
    steps = find_steps(timeline)
    last = range(max(len(steps) - STEPS, 0), len(steps) - 1)
    gpu = timeline.gpu
    length = (gpu.end - gpu.start) / 1e3
    kernels = gpu.kind == GpuKind.KERNEL
    totals = [float(length[kernels & (steps.gpu_step == step)].sum()) for step in last]
    found = {}
    for code in np.unique(gpu.name[kernels]):
        mine = kernels & (gpu.name == code)
        times = [float(length[mine & (steps.gpu_step == step)].sum()) for step in last]
        counts = [int((mine & (steps.gpu_step == step)).sum()) for step in last]
        if np.median(counts):
            found[timeline.names[code]] = (float(np.median(counts)), float(np.median(times)))
    return float(np.median(totals)), found


def said(timeline: Timeline, name: str) -> list[str]:
    """Return the codes of a recording's findings, the dearest first."""
    return [finding.code for finding in diagnose([timeline], name).findings]


def compared(ours: Timeline, theirs: Timeline) -> dict[str, object]:
    """Hold the two against each other."""
    (total, by_name), (their_total, their_names) = kernel_times(ours), kernel_times(theirs)
    findings = {"record": said(ours, "record"), "kineto": said(theirs, "kineto")}
    return {
        "findings": findings,
        "same_first_finding": findings["record"][:1] == findings["kineto"][:1] != [],
        "kernel_us": {"record": round(total, 2), "kineto": round(their_total, 2)},
        "difference": round(total / their_total - 1, 5),
        "within": abs(total / their_total - 1) <= NEAR,
        "same_kernels": sorted(by_name) == sorted(their_names),
        "same_counts": {n: c for n, (c, _) in by_name.items()}
        == {n: c for n, (c, _) in their_names.items()},
        "only_record": sorted(set(by_name) - set(their_names)),
        "only_kineto": sorted(set(their_names) - set(by_name)),
        "launches_found": float((ours.gpu.launch >= 0).mean()),
    }


def main() -> None:
    """Record twice, compare, print, write; exits with 1 where they disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--program", action="store_true", help="be the program")
    parser.add_argument("--trace", type=Path, help="be the program, under Kineto")
    options = parser.parse_args()
    if options.program:
        program(options.trace)
        return
    with tempfile.TemporaryDirectory() as folder:
        recording, trace = Path(folder) / "ours.tailwave", Path(folder) / "theirs.json"
        itself = [sys.executable, "-m", "benchmarks.record_against_kineto", "--program"]
        command = [sys.executable, "-m", "tailwave", "record", "-o", str(recording), "--", *itself]
        subprocess.run(command, check=True)  # noqa: S603 - this very file
        subprocess.run([*itself, "--trace", str(trace)], check=True)  # noqa: S603
        found = compared(read(recording)[0], read(trace)[0])
    print(json.dumps(found, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps({**provenance(), **found}, indent=1) + "\n", "utf-8")
    sys.exit(0 if found["same_first_finding"] and found["within"] else 1)


if __name__ == "__main__":
    main()
