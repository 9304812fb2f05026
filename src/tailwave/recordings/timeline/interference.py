"""Kernels that wait or run longer because another stream holds the SMs.

A kernel is *ready* when its launch has reached the GPU and its own stream is free. If it then
waits while kernels of other streams run, they hold the SMs; if it runs longer than the same
kernel does alone, it shares them. This costs the step only where the step does not need the
other streams' work: when nothing on the host joins the streams (no stream waits for an event),
the other stream belongs to somebody else.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.intervals import overlap, union
from tailwave.recordings.timeline.launches import NOT_RECORDED, issued
from tailwave.recordings.timeline.losses import communication
from tailwave.recordings.timeline.steps import Steps
from tailwave.recordings.timeline.streams import (
    begins_run,
    numbered,
    reach_before,
    stream_numbers,
)

# A wait counts when other streams' kernels covered at least this share of it.
_HELD_SHARE = 0.5
# Shorter waits (ns) are the GPU's own switching from kernel to kernel.
_SHORT_NS = 2_000
# A kernel ran alone when no more than this share of it was overlapped.
_ALONE_SHARE = 0.1
_SEVERAL = 2


class Interference(msgspec.Struct, frozen=True):
    """Per GPU row: time waited while others held the SMs, and time run longer than alone (ns)."""

    waited: Floats
    stretched: Floats
    holder: Ints  # the stream that held the SMs when the wait began; -1 if none


def interference(timeline: Timeline, device: int, latency: int) -> Interference:
    """Measure the interference between the streams of one device."""
    gpu = timeline.gpu
    waited, stretched = np.zeros(len(gpu)), np.zeros(len(gpu))
    holder = np.full(len(gpu), -1, dtype=np.int64)
    # Collectives take few SMs, and what waits while one runs waits for its result.
    computing = (gpu.kind == GpuKind.KERNEL) & ~communication(timeline)
    rows = np.flatnonzero((gpu.device == device) & computing)
    stream = gpu.stream[rows]
    if len(np.unique(stream)) <= 1:
        return Interference(waited, stretched, holder)
    start, end = gpu.start[rows], gpu.end[rows]
    any_busy, several_busy = _busy(stream, start, end)
    ready = _ready(timeline, latency)[rows]
    delay = np.maximum(start - ready, 0)
    # While a row waits its own stream is free, and while it runs the others are all but one.
    held = overlap(*any_busy, np.minimum(ready, start), start)
    counts = (delay > _SHORT_NS) & (held > _HELD_SHARE * delay)
    waited[rows] = np.where(counts, held, 0)
    shared = overlap(*several_busy, start, end)
    stretched[rows] = _longer_than_alone(timeline, rows, shared)
    holder[rows] = np.where(counts, _running(stream, start), -1)
    return Interference(waited, stretched, holder)


def _busy(stream: Ints, start: Ints, end: Ints) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    """When any stream was busy, and when at least two were, as disjoint intervals."""
    # Of rows of one stream that overlap, each counts for what goes beyond those before it.
    begin = np.maximum(start, reach_before(numbered(stream), end, NOT_RECORDED))
    moment = np.concatenate([begin, np.maximum(begin, end)])
    change = np.repeat([1, -1], len(start))
    order = np.argsort(moment, kind="stable")
    active = np.cumsum(change[order])[:-1]
    low, high = moment[order][:-1], moment[order][1:]
    one, two = active >= 1, active >= _SEVERAL
    return union(low[one], high[one]), union(low[two], high[two])


def _ready(timeline: Timeline, latency: int) -> Ints:
    """When each row's launch had arrived and the work before it in its stream was done."""
    call, never = issued(timeline), np.iinfo(np.int64).max // 2  # leaves room for arithmetic
    before = reach_before(stream_numbers(timeline), timeline.gpu.end, -never)
    # Of work launched by an unrecorded call nothing is known: it counts as never waiting.
    return np.maximum(before, np.where(call != NOT_RECORDED, call + latency, never))


def _longer_than_alone(timeline: Timeline, rows: Ints, shared: Ints) -> Floats:
    """Excess over the median duration of the same kernel alone, at most the time it shared."""
    gpu = timeline.gpu
    length = gpu.end[rows] - gpu.start[rows]
    alone = shared <= _ALONE_SHARE * length
    kind = numbered(gpu.stream[rows], gpu.name[rows], gpu.grid[rows], gpu.block[rows])
    usual = _medians(kind, length, alone)[kind]
    excess = np.clip(length - usual, 0, shared)
    return np.where(alone | np.isnan(usual), 0.0, excess)


def _medians(group: Ints, values: Ints, which: Flags) -> Floats:
    """Median of some of the values of each group; NaN for a group that has none of them."""
    result = np.full(int(group.max(initial=-1)) + 1, np.nan)
    group, values = group[which], values[which]
    order = np.lexsort((values, group))
    groups, first, count = np.unique(group[order], return_index=True, return_counts=True)
    middle = values[order][first + (count - 1) // 2] / 2 + values[order][first + count // 2] / 2
    result[groups] = middle
    return result


def _running(stream: Ints, start: Ints) -> Ints:
    """The stream of the last row of another stream to have started before each one; -1 for none."""
    place = np.searchsorted(start, start) - 1
    run = np.maximum.accumulate(np.where(begins_run(stream), np.arange(len(start)), 0))
    place = np.where((place >= 0) & (stream[place] == stream), run[place] - 1, place)
    return np.where(place >= 0, stream[place], -1)


def streams_are_joined(timeline: Timeline, steps: Steps) -> bool:
    """Tell whether the host makes any stream wait for another within the steps."""
    host = timeline.host
    calls = classify_all(timeline.names)
    within = (host.start >= steps.host_start[0]) & (host.start < steps.host_end[-1])
    runtime = (host.kind == HostKind.RUNTIME) & within
    return bool((calls[host.name[runtime]] == Call.STREAM_WAIT).any())


def most_delayed_stream(timeline: Timeline, seen: Interference, rows: Ints) -> int:
    """Return the stream that lost the most to others among some rows; -1 if none lost anything."""
    lost = seen.waited[rows] + seen.stretched[rows]
    if not lost.any():
        return -1
    streams, inverse = np.unique(timeline.gpu.stream[rows], return_inverse=True)
    return int(streams[np.argmax(np.bincount(inverse, weights=lost))])
