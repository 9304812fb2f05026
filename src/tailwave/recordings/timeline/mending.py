"""What recorders get wrong and can be set right: each repair is said in a note, with its size.

Rows without a time, rows that are there twice, kernels that end after their successors, a GPU clock
that is ahead of the host's.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tailwave.figures import time
from tailwave.model import Bytes, Flags, GpuTable, HostTable, Ints, SmallInts, Timeline
from tailwave.recordings.timeline.migrations import migrations

# A row that begins this much (ns) before all calls was given no time, or another clock's.
_OUTSIDE_NS = 3_600_000_000_000
# Shifts (ns) that are nearly the same: a clock that is ahead, and not rows that are wrong.
_SAME_SHIFT_NS = 100_000
# Host and GPU clocks are read this close (ns) to each other.
_ROUNDING_NS = 1_000


def mended(timeline: Timeline) -> Timeline:
    """Set right what can be, and say so in the notes."""
    for repair in (_timed, _once, _within, _in_turn, _after_launch):
        if len(timeline.gpu):
            timeline = repair(timeline)
    return timeline


def keep_gpu(gpu: GpuTable, keep: Flags | Ints) -> GpuTable:
    """Select rows of a GPU table."""
    return GpuTable(**{name: getattr(gpu, name)[keep] for name in gpu.__struct_fields__})


def _noted(timeline: Timeline, gpu: GpuTable, note: str) -> Timeline:
    return msgspec.structs.replace(timeline, gpu=gpu, notes=(*timeline.notes, note))


def _timed(timeline: Timeline) -> Timeline:
    """Leave out rows without a time (CUPTI gives 0 for them)."""
    gpu, host = timeline.gpu, timeline.host
    first = int(host.start.min()) if len(host) else int(np.median(gpu.start))
    lost = gpu.start < first - _OUTSIDE_NS
    if not lost.any():
        return timeline
    note = f"{counted(lost, 'GPU event')} left out: no time, the recorder could not take it."
    return _noted(timeline, keep_gpu(gpu, ~lost), note)


def _once(timeline: Timeline) -> Timeline:
    """Leave out what is there twice, as where two exports were merged."""
    gpu = timeline.gpu
    again = _repeated([gpu.start, gpu.end, gpu.name, gpu.stream, gpu.device, gpu.correlation])
    again &= gpu.end > gpu.start
    if not again.any():
        return timeline
    note = f"{counted(again, 'GPU event')} left out: the events are there twice."
    host = timeline.host
    twice = _repeated([host.start, host.end, host.name, host.thread, host.kind])
    # What a dropped call launched is the call's that stays.
    first = _first_of([host.start, host.end, host.name, host.thread, host.kind])
    launch = np.where(gpu.launch >= 0, (np.cumsum(~twice) - 1)[first[gpu.launch]], -1)
    kept = HostTable(**{name: getattr(host, name)[~twice] for name in host.__struct_fields__})
    whole = msgspec.structs.replace(gpu, launch=launch)
    return _noted(msgspec.structs.replace(timeline, host=kept), keep_gpu(whole, ~again), note)


def _repeated(columns: Sequence[Ints | SmallInts | Bytes]) -> Flags:
    """Tell which rows are equal to one before them."""
    return np.asarray(_first_of(columns) != np.arange(len(columns[0])), dtype=bool)


def _first_of(columns: Sequence[Ints | SmallInts | Bytes]) -> Ints:
    """Return for each row the first that is equal to it."""
    order = np.lexsort([np.arange(len(columns[0])), *columns])
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))]
    return first


def _within(timeline: Timeline) -> Timeline:
    """Leave out rows that last longer than the whole recording."""
    gpu = timeline.gpu
    window = timeline.recorded_to - timeline.recorded_from
    absurd = (gpu.end - gpu.start) > window
    if window <= 0 or not absurd.any():
        return timeline
    note = (
        f"{counted(absurd, 'GPU event')} left out: longer than the whole recording "
        f"({time(window / 1e3)})."
    )
    return _noted(timeline, keep_gpu(gpu, ~absurd), note)


def _in_turn(timeline: Timeline) -> Timeline:
    """Cut rows that outlast the whole of the next row in their stream.

    A stream runs its work in order. A kernel may begin while the one before it drains
    (programmatic dependent launch), but it is not over before it.
    """
    gpu = timeline.gpu
    order = np.lexsort((gpu.start, gpu.stream, gpu.device))
    same = (np.diff(gpu.stream[order]) == 0) & (np.diff(gpu.device[order]) == 0)
    # Pages move in no order; copy engines move them both ways at once.
    same &= ~migrations(timeline)[order[:-1]]
    before, after = order[:-1], order[1:]
    long = same & (gpu.end[before] > gpu.end[after] + _ROUNDING_NS)
    long &= gpu.end[after] > gpu.start[after]
    if not long.any():
        return timeline
    end = gpu.end.copy()
    end[before[long]] = np.maximum(gpu.start[after[long]], gpu.start[before[long]])
    cut = int((gpu.end - end).sum())
    note = (
        f"{counted(long, 'GPU event')} ended after the work that follows in the stream: cut where "
        f"that begins, {time(cut / 1e3)} in all."
    )
    return _noted(timeline, msgspec.structs.replace(gpu, end=end), note)


def _after_launch(timeline: Timeline) -> Timeline:
    """Shift the GPU's clock by the least that lets no work begin before its launch."""
    gpu, host = timeline.gpu, timeline.host
    known = gpu.launch >= 0
    if not known.any():
        return timeline
    early = host.start[gpu.launch[known]] - gpu.start[known]
    shift = int(early.max())
    if shift <= _ROUNDING_NS or early.max() - np.percentile(early, 90) > _SAME_SHIFT_NS:
        return timeline
    note = (
        f"The GPU's clock was {time(shift / 1e3)} ahead of the host's at least: its events are "
        "shifted by that."
    )
    moved = msgspec.structs.replace(gpu, start=gpu.start + shift, end=gpu.end + shift)
    return _noted(timeline, moved, note)


def counted(flags: Flags, noun: str, plural: str = "s") -> str:
    """Word how many flags are set: "3 GPU events"."""
    number = int(flags.sum())
    return f"{number:,} {noun}{plural if number != 1 else ''}"
