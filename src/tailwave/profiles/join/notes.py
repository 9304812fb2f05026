"""What is said of a recording and a profile together, beside what costs time."""

from __future__ import annotations

from collections.abc import Iterator

from tailwave.figures import percent, time
from tailwave.kernel_names import short
from tailwave.model import GpuKind
from tailwave.profiles.join.findings import GRID_CAUSES
from tailwave.profiles.join.step import ProfiledStep, part

_MOST_NAMED = 3
_WORTH_CORRECTING = 0.01  # of a step
_SURE = "by name, grid and block"


def notes_on(step: ProfiledStep) -> Iterator[str]:
    """Yield what was not joined, and what was joined with a doubt."""
    missing = [short(kernel.name) for kernel in step.kernels if kernel.in_trace is None]
    if missing:
        yield f"Profiled, but not in the recording's step: {_listed(missing)}."
    for kernel in step.kernels:
        if kernel.in_trace and kernel.in_trace.matched_by != _SURE:
            yield f"{short(kernel.name)} was matched {kernel.in_trace.matched_by}."
    if step.refused:
        yield f"Not matched, for it is not clear with what: {_listed(step.refused)}."
    yield from _corrections(step)
    yield from _unprofiled(step)
    ours = step.case.device.name
    others = {k.device.name for k in step.kernels if k.device and k.device.name} - {ours}
    if ours and others:
        theirs = ", ".join(sorted(others))
        yield f"The recording is of {ours}, the profile of {theirs}: shares may differ."


def _corrections(step: ProfiledStep) -> Iterator[str]:
    """Say where counters contradict what grids suggest, which the step's division still counts."""
    for code in GRID_CAUSES:
        rows = step.counted_rows(code)
        suggested = step.time_us(rows, step.suggested(code))
        seen = step.time_us(rows, step.lost(code))
        if suggested - seen >= _WORTH_CORRECTING * step.case.step_us:
            yield (
                f"Of {code}, grids suggest {time(suggested)} a step in profiled kernels; their "
                f"counters show {time(seen)}, which the findings count from."
            )


def _unprofiled(step: ProfiledStep) -> Iterator[str]:
    gpu = step.case.timeline.gpu
    kernels = step.case.gpu_rows & (gpu.kind == GpuKind.KERNEL)
    rows = kernels & (step.profile < 0)
    if rows.any():
        longest = sorted(rows.nonzero()[0], key=lambda row: int(gpu.start[row] - gpu.end[row]))
        names = list(dict.fromkeys(short(step.case.name_of_gpu(int(row))) for row in longest))
        share = percent(part(step.time_us(rows), step.time_us(kernels)))
        yield f"Kernels without a profile are {share} of kernel time: {_listed(names)}."


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
