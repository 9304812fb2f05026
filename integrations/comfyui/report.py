"""The report's text: which SMs, how long a denoising call took, how many launches it made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .confining import Confined
from .runs import COUNTED_CALL, Run

PERCENTILE_CALLS = 100  # fewer calls than this have no 99th percentile but their slowest


def report(confined: Confined) -> str:
    """Return the figures of a confined model's last run, as lines of text."""
    run = confined.recorder.last
    lines = [_partition(confined)]
    if run is None:
        lines.append("It has not sampled yet: connect the LATENT that its sampler gives.")
    else:
        lines += [_run(run), _calls(run), _launches(run, confined)]
        lines.append(_compiler(confined))
    return "\n".join(line for line in lines if line)


def percentile(values: Sequence[float], part: float) -> float:
    """Return the smallest of the values that at least this part of them does not exceed."""
    return sorted(values)[math.ceil(part * len(values)) - 1]


def _partition(confined: Confined) -> str:
    lease = confined.lease
    return (
        f"SM partition of {lease.group.sm_count} SMs: a kernel run in it was seen on "
        f"{len(lease.proved)} different SMs. {lease.group.note}".rstrip()
    )


def _run(run: Run) -> str:
    steps = "" if run.steps is None else f" for {run.steps} steps"
    if not run.finished:
        return f"The last run was ended by an error or an interruption after {run.calls} calls."
    return f"Last run: {run.calls} denoising calls{steps} in {run.seconds:.2f} s."


def _calls(run: Run) -> str:
    if not run.call_ms:
        return ""
    slowest = " (the slowest)" if len(run.call_ms) < PERCENTILE_CALLS else ""
    return (
        f"A denoising call on the GPU: p50 {percentile(run.call_ms, 0.5):.2f} ms, "
        f"p99 {percentile(run.call_ms, 0.99):.2f} ms{slowest}, of {len(run.call_ms)} calls; "
        "the first is left out."
    )


def _launches(run: Run, confined: Confined) -> str:
    if not confined.recorder.count_launches:
        return ""
    if run.launches is None:
        return (
            f"Launches were not counted: call {COUNTED_CALL + 1} did not come, or another "
            "profiler was running."
        )
    kernels, graphs = run.launches
    return (
        f"Call {COUNTED_CALL + 1} launched {kernels} kernels and {graphs} graphs; "
        "its time is left out, for the counting slows it."
    )


def _compiler(confined: Confined) -> str:
    if not confined.compiler_was_on:
        return "ComfyUI's model compiler is off or not in this version."
    if not confined.graphs_were_on:
        return "ComfyUI's model compiler was paused during each denoising call."
    return (
        "ComfyUI's model compiler and its CUDA graphs, which would leave the partition, were "
        "paused during each denoising call."
    )
