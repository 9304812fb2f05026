"""Times a step without the profiler, then records a few steps as a user's script would."""

from __future__ import annotations

import contextlib
import gzip
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

if TYPE_CHECKING:
    from benchmarks.workloads.cases import Recording, Step

REPEATS = 5
FEWEST_STEPS, MOST_STEPS = 6, 300  # of one repeat: 30 or more of a case
REPEAT_S = 0.15
SKIPPED_STEPS = 2  # the schedule's wait and warmup


def finish() -> None:
    """Wait for the current stream only: a neighbour's stream may never run dry."""
    torch.cuda.current_stream().synchronize()


def warm_up(step: Step, *, fewest: int = 10, seconds: float = 0.3) -> float:
    """Run the step until lazy set-up is over and the clocks are up; return seconds per step."""
    began = time.perf_counter()
    while True:
        lap = time.perf_counter()
        for _ in range(fewest):
            step()
        finish()
        now = time.perf_counter()
        if now - began > seconds:
            return (now - lap) / fewest


def time_steps(step: Step, estimate_s: float) -> list[float]:
    """Return milliseconds per step of each repeat: N steps in a loop, one wait at the end."""
    count = min(max(round(REPEAT_S / estimate_s), FEWEST_STEPS), MOST_STEPS)
    laps = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(count):
            step()
        finish()
        laps.append((time.perf_counter() - began) * 1e3 / count)
    return laps


def typical(laps: list[float]) -> float:
    """Return the median repeat, to the tenth of a microsecond."""
    return round(statistics.median(laps), 4)


def capture(step: Step) -> Step:
    """Capture the step as one CUDA graph and return its replay."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def record(step: Step, recording: Recording, path: Path) -> int:
    """Profile the step and write the trace; return the file's size in bytes."""
    (_record_scheduled if recording.schedule else _record_plainly)(step, recording, path)
    packed = gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=9, mtime=0)
    path.write_bytes(packed)
    return len(packed)


def _profiler(recording: Recording, path: Path) -> profile:
    plan = (
        schedule(wait=1, warmup=1, active=recording.steps, repeat=1) if recording.schedule else None
    )
    return profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=plan,
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
        record_shapes=recording.shapes,
        with_stack=recording.stack,
        with_modules=recording.modules,
    )


def _record_scheduled(step: Step, recording: Recording, path: Path) -> None:
    with _profiler(recording, path) as profiler:
        for _ in range(SKIPPED_STEPS + recording.steps):
            step()
            profiler.step()


def _record_plainly(step: Step, recording: Recording, path: Path) -> None:
    with _profiler(recording, path):
        for _ in range(recording.steps):
            with _annotated(recording.annotation):
                step()


def _annotated(name: str) -> contextlib.AbstractContextManager[object]:
    return record_function(name) if name else contextlib.nullcontext()
