"""What each GPU row of a recording waited for before it started.

The arrival of its launch, the row before it in its stream, and one row of another stream where
the recording shows that it waited for one. Whichever was binding reproduces the recorded start
exactly; the others get typical values, so that they can become binding in a changed run.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Ints, Timeline
from tailwave.recordings.replay.dependencies import UNEXPLAINED_NS, DependencyFinder, joined_rows
from tailwave.recordings.replay.program import Dependency

# Long before every moment of a recording, with room to add to it.
NEVER = np.iinfo(np.int64).min // 4


class Timing(msgspec.Struct, frozen=True):
    """Columns of a Program's GPU rows: latency and gap (ns), dependency with its lag and kind."""

    latency: Ints
    gap: Ints
    dep: Ints
    dep_lag: Ints
    dep_kind: Bytes


def row_timing(timeline: Timeline, usual: int, order: Ints, position: Ints, called: Ints) -> Timing:
    """Split each row's recorded start into what it waited for since it was ``called`` for.

    ``usual`` is the time from a launch to the start of its work on an idle GPU (ns).
    """
    gpu = timeline.gpu
    start = gpu.start[order]
    known = gpu.launch[order] >= 0
    before = stream_predecessor_end(timeline, order)
    queued = ~known | (called + usual <= before)
    since_before = start - before
    # Of an unrecorded launch nothing is known but that it came in time.
    since_issue = np.where(known, start - called, 0)
    switching = since_before[queued & (since_before >= 0) & (since_before < UNEXPLAINED_NS)]
    usual_gap = int(np.median(switching)) if len(switching) else 0
    latency = np.where(queued, np.minimum(usual, np.maximum(since_issue, 0)), since_issue)
    gap = np.where(queued, since_before, np.minimum(usual_gap, since_before))
    dep = np.full(len(order), -1, dtype=np.int64)
    lag = np.zeros(len(order), dtype=np.int64)
    kind = np.zeros(len(order), dtype=np.uint8)
    waited = start - np.maximum(before, np.where(known, called + usual, NEVER))
    waited = np.where(before > NEVER, waited, np.where(known, waited, 0))
    finder = DependencyFinder(timeline)
    for index in np.flatnonzero(waited > UNEXPLAINED_NS):
        found, why = finder.find(int(order[index]), int(start[index] - waited[index]))
        if found < 0:
            continue
        dep[index], kind[index] = position[found], why
        lag[index] = start[index] - gpu.end[found]
        latency[index] = min(usual, int(since_issue[index]))
        gap[index] = min(usual_gap, int(since_before[index]))
    for row, source in joined_rows(timeline, order, position).items():
        # A join that was not binding in the recording can be in a changed run.
        if dep[row] < 0 and gpu.end[order[source]] <= start[row]:
            dep[row], kind[row] = source, Dependency.EVENT
            lag[row] = min(usual_gap, int(start[row] - gpu.end[order[source]]))
    return Timing(latency, gap, dep, lag, kind)


def stream_predecessor_end(timeline: Timeline, order: Ints) -> Ints:
    """End of what ran before each row in its stream, in order of issue; long ago if nothing."""
    gpu = timeline.gpu
    result = np.full(len(order), NEVER, dtype=np.int64)
    key = np.lexsort((np.arange(len(order)), gpu.stream[order], gpu.device[order]))
    ends = gpu.end[order][key]
    device, stream = gpu.device[order][key], gpu.stream[order][key]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (np.diff(device) != 0) | (np.diff(stream) != 0)
    for low, high in zip(
        np.flatnonzero(fresh), np.append(np.flatnonzero(fresh)[1:], len(key)), strict=True
    ):
        result[key[low + 1 : high]] = np.maximum.accumulate(ends[low:high])[:-1]
    return result
