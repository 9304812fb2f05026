"""What each GPU row of a recording waited for before it started.

The arrival of its launch, the row before it in its stream, and one row of another stream where
the recording shows that it waited for one. Whichever was binding reproduces the recorded start
exactly; the others get typical values, so that they can become binding in a changed run.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Ints, Timeline
from tailwave.recordings.replay.dependencies import (
    UNEXPLAINED_NS,
    joined_rows,
    rows_ended_just_then,
    waits_are_recorded,
)
from tailwave.recordings.replay.program import Dependency
from tailwave.recordings.timeline.streams import reach_before, stream_numbers

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
    joined, source = joined_rows(timeline)
    join = np.full(len(gpu), -1, dtype=np.int64)
    join[joined] = source
    join = join[order]
    # None at all where what it is said to have waited for ended after it started.
    join[(join >= 0) & (gpu.end[join] > start)] = -1
    waited = start - np.maximum(before, np.where(known, called + usual, NEVER))
    waited = np.where(before > NEVER, waited, np.where(known, waited, 0))
    unexplained = np.flatnonzero(waited > UNEXPLAINED_NS)
    found, why = rows_ended_just_then(
        timeline, order[unexplained], start[unexplained] - waited[unexplained]
    )
    if waits_are_recorded(timeline):
        just = (join[unexplained] >= 0) & (
            start[unexplained] - gpu.end[join[unexplained]] <= UNEXPLAINED_NS
        )
        found[just], why[just] = join[unexplained[just]], Dependency.EVENT
    dep = np.full(len(order), -1, dtype=np.int64)
    kind = np.zeros(len(order), dtype=np.uint8)
    lag = np.zeros(len(order), dtype=np.int64)
    dep[unexplained], kind[unexplained] = found, why
    bound = dep >= 0
    lag[bound] = start[bound] - gpu.end[dep[bound]]
    latency[bound] = np.minimum(usual, since_issue[bound])
    gap[bound] = np.minimum(usual_gap, since_before[bound])
    # A join that was not binding in the recording can be in a changed run.
    slack = ~bound & (join >= 0)
    dep[slack], kind[slack] = join[slack], Dependency.EVENT
    lag[slack] = np.minimum(usual_gap, start[slack] - gpu.end[join[slack]])
    dep[dep >= 0] = position[dep[dep >= 0]]
    return Timing(latency, gap, dep, lag, kind)


def stream_predecessor_end(timeline: Timeline, order: Ints) -> Ints:
    """End of what ran before each row in its stream, in order of issue; long ago if nothing."""
    return reach_before(stream_numbers(timeline)[order], timeline.gpu.end[order], NEVER)
