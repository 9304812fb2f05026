"""Whether the cost of a diagnosis is linear in what a recording holds much of.

Four kinds of recordings are made, each small and four times as large: of streams that wait for each
other, of thousands of streams, of tiny kernels in one step, of a thousand threads that launch.
Times are of the processor, of whole ``tailwave diagnose --json``, in a process each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from read_kineto import BENCH, DIAGNOSE, measure

SMALL, TIMES = 40_000, 4  # launches, and how many times as many
# What four times as much may cost; what does not grow, as imports, is in both.
GOAL_RATIO = 1.3 * TIMES
_STREAMS, _THREADS = 16_000, 1_000
_STEPS = 20
_CALL_US, _KERNEL_US = 6.0, 4.0
_DEVICE = {"id": 0, "name": "made up", "numSms": 132, "computeMajor": 9, "computeMinor": 0}

Event = dict[str, Any]


def main() -> None:
    """Print the table; fail when a cost grows faster than its recording."""
    BENCH.mkdir(exist_ok=True)
    print(f"{'':28}{f'{SMALL:,} launches':>18}{f'{SMALL * TIMES:,}':>12}{'times':>8}{'peak MB':>9}")
    missed = []
    for kind, events in KINDS.items():
        small, large = (
            measure(sys.executable, DIAGNOSE, _made(kind, events, count), times=1)
            for count in (SMALL, SMALL * TIMES)
        )
        ratio = large.cpu / small.cpu
        print(
            f"{kind:28}{small.cpu:>16.2f} s{large.cpu:>10.2f} s{ratio:>8.2f}{large.megabytes:>9.0f}"
        )
        if ratio > GOAL_RATIO:
            missed.append(kind)
    if missed:
        raise SystemExit(f"more than {GOAL_RATIO:.1f} times as long: {', '.join(missed)}")


def _made(kind: str, events: Callable[[int], Iterator[Event]], launches: int) -> Path:
    path = BENCH / f"{kind.replace(' ', '_')}.{launches}.json"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as out:
            out.write(f'{{"schemaVersion": 1, "deviceProperties": [{json.dumps(_DEVICE)}],\n')
            out.write('"traceEvents": [\n')
            out.write(",\n".join(map(json.dumps, events(launches))))
            out.write("\n]}\n")
        unfinished.rename(path)
    return path


def _event(category: str, name: str, start: float, length: float, **more: Any) -> Event:  # noqa: ANN401
    thread = {"pid": 1, "tid": more.pop("tid", 1)}
    times = {"ts": round(start, 3), "dur": length}
    return {"ph": "X", "cat": category, "name": name} | thread | times | {"args": more}


def _launch(number: int, start: float, stream: int = 7, tid: int = 1) -> Iterator[Event]:
    """An operator that launches a kernel; a kernel follows the other when it can."""
    yield _event("cpu_op", "aten::mm", start, _CALL_US - 1, tid=tid)
    yield _event("cuda_runtime", "cudaLaunchKernel", start + 1, 2, tid=tid, correlation=number)
    shape = {"grid": [132, 1, 1], "block": [128, 1, 1], "device": 0, "stream": stream}
    yield _event("kernel", "gemm", start + 8, _KERNEL_US, correlation=number, **shape)


def _steps(count: int, steps: int = _STEPS) -> Iterator[tuple[int, float, Event | None]]:
    """Number launches, with their times and the annotation of the step that begins with one."""
    length = count // steps
    for number in range(count):
        start = 1_000 + number * _CALL_US
        whole = length * _CALL_US - 1
        name = f"ProfilerStep#{number // length}"
        opens = number % length == 0
        yield number, start, _event("user_annotation", name, start, whole) if opens else None


def _waits(count: int) -> Iterator[Event]:
    for number, start, opened in _steps(count):
        yield from [opened] if opened else ()
        if number % 2:
            yield _event("cuda_runtime", "cudaEventRecord", start + 0.2, 0.3)
            yield _event("cuda_runtime", "cudaStreamWaitEvent", start + 0.6, 0.3)
        yield from _launch(number, start, stream=7 + number % 2)


def _streams(count: int) -> Iterator[Event]:
    for number, start, opened in _steps(count):
        yield from [opened] if opened else ()
        yield from _launch(number, start, stream=7 + number % _STREAMS)


def _tiny(count: int) -> Iterator[Event]:
    for number, start, opened in _steps(count, steps=1):
        yield from [opened] if opened else ()
        yield from _launch(number, start)


def _threads(count: int) -> Iterator[Event]:
    for number, start, opened in _steps(count):
        yield from [opened] if opened else ()
        yield from _launch(number, start, tid=1 + number % _THREADS)


KINDS: dict[str, Callable[[int], Iterator[Event]]] = {
    "stream waits": _waits,
    "16,000 streams": _streams,
    "tiny kernels in one step": _tiny,
    "1,000 threads": _threads,
}

if __name__ == "__main__":
    main()
