"""Checks the recordings against their rows of truth, and prints what each one holds.

    python -m benchmarks.workloads.verify [FOLDER]

Uses the standard library alone and none of tailwave, so that what it finds can check tailwave.
A step's GPU work is what the step's own host code launched, by correlation id; a step is complete
when its host code and that work have ended, and lasts from the completion before it to its own.
"""

from __future__ import annotations

import argparse
import bisect
import dataclasses
import gzip
import itertools
import json
import statistics
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "results" / "recordings"
_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_RUNTIME = ("cuda_runtime", "cuda_driver")

Event = dict[str, Any]
Span = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a recording holds; times are milliseconds per step, medians over the steps."""

    steps: int
    recorded_ms: float
    busy_ms: float
    kernels: float  # per step, the work of the step's own threads


def read(path: Path) -> Contents:
    """Read a trace and measure its steps."""
    with gzip.open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    host = _steps(events)
    own = _own_threads(events)
    calls = {
        e["args"]["correlation"]: (e["ts"], e["tid"])
        for e in events
        if e.get("cat") in _RUNTIME and "correlation" in e["args"]
    }
    work: list[list[Span]] = [[] for _ in host]
    kernels = 0
    before = host[0][0]  # when the GPU was done with what was launched before the first step
    for event in (e for e in events if e.get("cat") in _GPU):
        issued, thread = calls.get(event["args"].get("correlation"), (None, None))
        if issued is None or thread not in own:
            continue
        span = (event["ts"], event["ts"] + event["dur"])
        step = bisect.bisect_right([start for start, _ in host], issued) - 1
        if step < 0:
            before = max(before, span[1])
        elif issued < host[-1][1]:
            work[step].append(span)
            kernels += event["cat"] == "kernel"
    complete = [before]
    for (_, end), spans in zip(host, work, strict=True):
        complete.append(max(complete[-1], end, *(span[1] for span in spans)))
    lengths = [after - before for before, after in itertools.pairwise(complete)]
    return Contents(
        steps=len(host),
        recorded_ms=statistics.median(lengths) / 1e3,
        busy_ms=statistics.median(map(_union, work)) / 1e3,
        kernels=kernels / len(host),
    )


def _steps(events: list[Event]) -> list[Span]:
    """Return when the host began and ended each step, or all of the recording."""
    notes = [e for e in events if e.get("cat") == "user_annotation"]
    for mark in ("ProfilerStep#", "train_step"):
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in notes if e["name"].startswith(mark))
        if spans:
            return spans
    timed = [e for e in events if e.get("cat") in (*_RUNTIME, "cpu_op")]
    return [(min(e["ts"] for e in timed), max(e["ts"] + e["dur"] for e in timed))]


def _own_threads(events: list[Event]) -> set[int]:
    """Return the threads whose operators are recorded: not those of a neighbour."""
    return {e["tid"] for e in events if e.get("cat") in ("cpu_op", "user_annotation")}


def _union(spans: list[Span]) -> float:
    total, reach = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reach), 0.0)
        reach = max(reach, end)
    return total


def check(folder: Path) -> list[str]:
    """Print the table; return what is wrong."""
    rows = json.loads((folder / "truth.json").read_text())
    known = {row["file"]: row for row in rows}
    wrong = [f"{path.name}: no row" for path in folder.glob("*.gz") if path.name not in known]
    unknown = float("nan")
    print(f"{'file':42} recorded unprofiled graphed    busy kernels  twin  top")
    for row in rows:
        held = read(folder / row["file"])
        whole = row["steps"] if held.steps == 1 else 1  # unmarked: per step of the loop
        if held.steps != row["steps"] and held.steps != 1:
            wrong.append(f"{row['file']}: {held.steps} steps, not {row['steps']}")
        twin = known.get(row.get("twin", ""), {})
        if "twin" in row and not twin:
            wrong.append(f"{row['file']}: its twin {row['twin']} is not there")
        print(
            f"{row['file']:42} {held.recorded_ms / whole:8.3f}"
            f" {row.get('unprofiled_ms_per_step', unknown):9.3f}"
            f" {row.get('graphed_ms_per_step', unknown):7.3f} {held.busy_ms / whole:8.3f}"
            f" {held.kernels / whole:6.0f} {twin.get('unprofiled_ms_per_step', unknown):8.3f}"
            f" {row['top']}"
        )
    return wrong


def main() -> None:
    """Check a folder of recordings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    wrong = check(parser.parse_args().folder)
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
