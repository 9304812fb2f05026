"""Recordings by hand, to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tailwave.model import DeviceInfo, RecordingComparison, Timeline
from tailwave.recordings.comparison.compare import compare_timelines
from tailwave.recordings.readers import read
from tests.builders import H200, Trace, Work, kernel, steps
from tests.places import TRACES

NAMES = ("embed", "gemm", "norm", "attention", "head", "softmax", "copy")
LATENCY = 5.0


def run(  # noqa: PLR0913 - all of it has a usual value
    *,
    each: float = 20.0,
    took: Sequence[float] = (8.0,) * len(NAMES),
    names: Sequence[str] = NAMES,
    operators: Sequence[str] = (),
    grids: Sequence[int] = (),
    device: DeviceInfo = H200,
    count: int = 3,
) -> Timeline:
    """Record some steps: the host takes ``each`` us to issue a kernel, which runs as ``took`` says.

    Kernels that end before the next is issued leave the GPU idle, so the host is the bound.
    """

    def body(trace: Trace) -> None:
        free = 0.0
        for place, (name, length) in enumerate(zip(names, took, strict=True)):
            issued = place * each
            begin = max(issued + each / 2 + LATENCY, free)
            free = begin + length
            grid = grids[place] if grids else 100 + place
            work: Work = kernel(name, begin, free, grid=grid)
            if operators:
                trace.op(operators[place], issued, issued + each - 1)
            trace.launch(issued + each / 2, issued + each - 2, work)

    length = max(len(names) * each, len(names) * each / 2 + sum(took)) + 2 * LATENCY
    return steps(count, length, body, Trace(devices=(device,)))


def compared(old: Timeline, new: Timeline) -> RecordingComparison:
    """Compare two recordings."""
    return compare_timelines([old], "old", [new], "new")


def parts(comparison: RecordingComparison) -> dict[str, float]:
    """Return the parts of a difference, each rounded to a nanosecond."""
    return {part.what: round(part.us, 3) for part in comparison.parts}


@cache
def recorded(name: str) -> Timeline:
    """Read one of the recordings that the tests have."""
    (timeline,) = read(TRACES / f"{name}.json.gz")
    return timeline


def of(name: str, after: str) -> RecordingComparison:
    """Compare two of the recordings that the tests have."""
    return compare_timelines([recorded(name)], name, [recorded(after)], after)
