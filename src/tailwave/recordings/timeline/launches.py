"""When the host issued each piece of GPU work."""

from __future__ import annotations

import numpy as np

from tailwave.model import Flags, GpuKind, Ints, Timeline
from tailwave.recordings.timeline.migrations import migrations

# Before every moment of a recording: what is not in it was issued before it began.
NOT_RECORDED = int(np.iinfo(np.int64).min)
# Launch to start on an idle GPU when the recording never shows it (ns): H200, profiled and not,
# 4 to 10 us.
DEFAULT_LATENCY_NS = 5_000
# Work that has arrived at an idle GPU begins within this (ns) at the latest: up to 60 us were seen
# on a profiled H200. What takes longer was kept by something that is not recorded.
LONGEST_LATENCY_NS = 100_000


def issued(timeline: Timeline) -> Ints:
    """Return when the call that launched each GPU row began (ns), or NOT_RECORDED.

    Pages move when they are touched, so at their own start.
    """
    launch = timeline.gpu.launch
    moment = np.full(len(launch), NOT_RECORDED, dtype=np.int64)
    known = launch >= 0
    moment[known] = timeline.host.start[launch[known]]
    return np.where(migrations(timeline), timeline.gpu.start, moment)


def issued_in_order(timeline: Timeline) -> Ints:
    """Return the same, taking for an unrecorded launch that of the row before it in its stream.

    A stream runs its work in the order in which it was issued.
    """
    moment = issued(timeline)
    return filled_in_streams(timeline, moment, known=moment != NOT_RECORDED)


def filled_in_streams(timeline: Timeline, values: Ints, *, known: Flags) -> Ints:
    """Give GPU rows of unknown value that of the row before them in their stream, if any."""
    gpu = timeline.gpu
    order = np.lexsort((gpu.start, gpu.stream, gpu.device))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(gpu.stream[order]) != 0) | (np.diff(gpu.device[order]) != 0)
    source = np.where(known[order] | fresh, np.arange(len(order)), 0)
    filled = values.copy()
    filled[order] = values[order][np.maximum.accumulate(source)]
    return filled


def launch_latency(timeline: Timeline, rows: Ints) -> int:
    """Median time from launch call to start of the kernels that found the GPU idle (ns).

    That is 4 to 10 us on an H200, more under WSL. Where no kernel tells, DEFAULT_LATENCY_NS.
    """
    gpu, call = timeline.gpu, issued(timeline)[rows]
    reach = np.maximum.accumulate(gpu.end[rows])
    idle_since = np.concatenate([[NOT_RECORDED], reach[:-1]])[: len(rows)]
    found = rows[(call > idle_since) & (gpu.kind[rows] == GpuKind.KERNEL)]
    took = gpu.start[found] - issued(timeline)[found]
    took = took[(took >= 0) & (took <= LONGEST_LATENCY_NS)]
    return int(np.median(took)) if len(took) else DEFAULT_LATENCY_NS
