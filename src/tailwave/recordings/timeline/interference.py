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

from tailwave.model import Floats, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.intervals import overlap, union
from tailwave.recordings.timeline.launches import NOT_RECORDED, issued
from tailwave.recordings.timeline.losses import communication
from tailwave.recordings.timeline.steps import Steps

# A wait counts when other streams' kernels covered at least this share of it.
_HELD_SHARE = 0.5
# Shorter waits (ns) are the GPU's own switching from kernel to kernel.
_SHORT_NS = 2_000
# A kernel ran alone when no more than this share of it was overlapped.
_ALONE_SHARE = 0.1


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
    kernels = np.flatnonzero((gpu.device == device) & computing)
    rows_of = {int(s): kernels[gpu.stream[kernels] == s] for s in np.unique(gpu.stream[kernels])}
    if len(rows_of) <= 1:
        return Interference(waited, stretched, holder)
    for stream, rows in rows_of.items():
        others = kernels[gpu.stream[kernels] != stream]
        busy = union(gpu.start[others], gpu.end[others])
        ready = _ready(timeline, device, stream, rows, latency)
        delay = np.maximum(gpu.start[rows] - ready, 0)
        held = overlap(*busy, np.minimum(ready, gpu.start[rows]), gpu.start[rows])
        counts = (delay > _SHORT_NS) & (held > _HELD_SHARE * delay)
        waited[rows] = np.where(counts, held, 0)
        shared = overlap(*busy, gpu.start[rows], gpu.end[rows])
        stretched[rows] = _longer_than_alone(timeline, rows, shared)
        holder[rows] = np.where(counts, _running(timeline, others, gpu.start[rows]), -1)
    return Interference(waited, stretched, holder)


def _ready(timeline: Timeline, device: int, stream: int, rows: Ints, latency: int) -> Ints:
    """When each row's launch had arrived and the work before it in its stream was done."""
    gpu, call = timeline.gpu, issued(timeline)[rows]
    own = np.flatnonzero((gpu.device == device) & (gpu.stream == stream))
    reach = np.maximum.accumulate(gpu.end[own])
    position = np.searchsorted(own, rows)
    never = np.iinfo(np.int64).max // 2  # leaves room for arithmetic
    before = np.where(position > 0, reach[np.maximum(position - 1, 0)], -never)
    # Of work launched by an unrecorded call nothing is known: it counts as never waiting.
    arrived = np.where(call != NOT_RECORDED, call + latency, never)
    return np.maximum(before, arrived)


def _longer_than_alone(timeline: Timeline, rows: Ints, shared: Ints) -> Floats:
    """Excess over the median duration of the same kernel alone, at most the time it shared."""
    gpu = timeline.gpu
    length = gpu.end[rows] - gpu.start[rows]
    alone = shared <= _ALONE_SHARE * length
    excess = np.zeros(len(rows))
    shape = np.column_stack([gpu.name[rows], gpu.grid[rows], gpu.block[rows]])
    kind = np.unique(shape, axis=0, return_inverse=True)[1].ravel()
    for code in np.unique(kind[~alone]):
        same = kind == code
        if (same & alone).any():
            usual = float(np.median(length[same & alone]))
            mine = same & ~alone
            excess[mine] = np.clip(length[mine] - usual, 0, shared[mine])
    return excess


def _running(timeline: Timeline, others: Ints, at: Ints) -> Ints:
    """The stream of the last of ``others`` to have started before each moment."""
    position = np.searchsorted(timeline.gpu.start[others], at) - 1
    return np.where(position >= 0, timeline.gpu.stream[others[np.maximum(position, 0)]], -1)


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
