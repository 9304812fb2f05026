"""Pages of managed memory move when they are touched, and hold what touched them.

What it means:
    Managed memory (cudaMallocManaged) is where it was touched last. Whoever touches it elsewhere
    faults, and waits until its page has moved: a kernel for pages from the host, the host for
    pages from the GPU. Pages move a few at a time, far below the link's speed.

How it is found:
    The recorder shows each move and why it happened; moves that the program asked for, and pages
    that the GPU had no room for, do not count. The gain comes from a replay in which the pages have
    moved before: kernels and host work lose the time in which pages moved, and a step takes no less
    than its bytes need on the link. What a fault costs beyond the move is recorded only where nsys
    was asked for it (--cuda-um-gpu-page-faults=true); without, prefetching brings more than said.

What cures it:
    prefetch-pages: cudaMemPrefetchAsync in the stream of the kernel, and to the host before it
    reads; cudaMemAdvise for what stays where it is. pinned-copies: memory of the GPU's own, and
    copies of pinned memory.

What fools it:
    Memory beyond what the GPU has: pages are evicted and come back, and no prefetch helps but a
    smaller working set. Which thread of the host faulted is not recorded. Pages that move beside
    work that did not need them are charged to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tailwave.model import Evidence, Finding, Ints
from tailwave.recordings.causes.build import finding, times, worth
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.timeline.calls import direction
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.intervals import union
from tailwave.recordings.timeline.link import link_speed
from tailwave.recordings.timeline.migrations import migrations

CODE = "page-migration"
_WAYS = {"HtoD": "to the GPU", "DtoH": "back to the host", "DtoD": "between GPUs"}
_NOT_TOUCHED = {"prefetched": "prefetched already", "evicted": "evicted for want of room"}


def find(case: Case, forecast: Forecast) -> Finding | None:
    """Compare the step with the same step when its pages have moved before."""
    touched = np.flatnonzero(case.gpu_rows & migrations(case.timeline, "touched"))
    if not len(touched):
        return None
    took = case.a_step(_covered(case, touched))
    brings = worth(forecast, "prefetch-pages", took)
    moves = touched[_way(case, touched) != ""]
    claim = (
        f"Pages of managed memory move {times(len(moves) / len(case.steps))} a step because they "
        f"are touched, which costs {brings.part} of it at least; moved beforehand, {brings.gain}."
    )
    return finding(
        brings,
        code=CODE,
        title="Kernels or the host wait for pages of managed memory",
        claim=claim,
        evidence=_evidence(case, touched, moves, took),
        cures=("prefetch-pages", "pinned-copies"),
    )


def _evidence(case: Case, touched: Ints, moves: Ints, took: float) -> list[Evidence]:
    gpu, count = case.timeline.gpu, len(case.steps)
    found = [Evidence("pages moved, or the GPU dealt with faults", took, "us")]
    for way, words in _WAYS.items():
        moved = moves[_way(case, moves) == way]
        if len(moved):
            found.append(Evidence(f"moved {words}", _bytes(case, moved) / count, "B"))
    spent = float((gpu.end - gpu.start)[moves].sum())
    if spent:
        link = link_speed(case.timeline, case.device) / 1e3
        found.append(Evidence("speed of these moves", _bytes(case, moves) / spent, "GB/s"))
        found.append(Evidence("speed of the link", link, "GB/s"))
    if faults := len(touched) - len(moves):
        found.append(Evidence("groups of faults of the GPU", faults / count, "count"))
    for why, words in _NOT_TOUCHED.items():
        rows = np.flatnonzero(case.gpu_rows & migrations(case.timeline, why))
        if len(rows):
            found.append(Evidence(words, _bytes(case, rows) / count, "B"))
    return found


def _way(case: Case, rows: Ints) -> npt.NDArray[np.str_]:
    """Direction of each move; "" for faults."""
    ways = np.array([direction(name) for name in case.timeline.names])
    return np.asarray(ways[case.timeline.gpu.name[rows]])


def _bytes(case: Case, rows: Ints) -> float:
    return float(np.maximum(case.timeline.gpu.bytes[rows], 0).sum())


def _covered(case: Case, rows: Ints) -> int:
    """Time in which any of some rows ran (ns)."""
    start, end = union(case.timeline.gpu.start[rows], case.timeline.gpu.end[rows])
    return int((end - start).sum())
