"""Which row of another stream a GPU row waited for: recorded, asked for by the host, or seen."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.replay.program import Dependency
from tailwave.recordings.timeline.calls import Call, classify_all
from tailwave.recordings.timeline.streams import Lines, begins_run, last_above, numbered

# A row that starts this much (ns) after all that it is known to wait for waited for something
# else: a row of another stream, if one ended just then.
UNEXPLAINED_NS = 10_000
# How many rows that ended before are looked at for it.
_LOOK_BACK = 128
_STREAM_WAIT = "Stream Wait Event"


class _StreamWaits(msgspec.Struct, frozen=True):
    """Streams made to wait for an event; -1 for what the recording does not say.

    The host asked for the wait ``at`` a moment, and had recorded the event at another (ns; the
    same where it is not known).
    """

    at: Ints
    thread: Ints
    device: Ints
    stream: Ints
    source_stream: Ints
    recorded_at: Ints


def waits_are_recorded(timeline: Timeline) -> bool:
    """Tell whether the recording says which stream waited for which, each time that one did.

    Where it does not, ``joined_rows`` infers it from the order of the host's calls.
    """
    source = timeline.waits.source_stream[_recorded_waits(timeline)]
    return len(source) > 0 and bool((source >= 0).all())


def _recorded_waits(timeline: Timeline) -> Ints:
    is_wait = np.array([name == _STREAM_WAIT for name in timeline.names], dtype=bool)
    return np.flatnonzero(is_wait[timeline.waits.name])


def _asked_waits(timeline: Timeline) -> Ints:
    """Host rows of the calls that make a stream wait."""
    calls = classify_all(timeline.names)[timeline.host.name]
    return np.flatnonzero((timeline.host.kind == HostKind.RUNTIME) & (calls == Call.STREAM_WAIT))


def _stream_waits(timeline: Timeline) -> _StreamWaits:
    """Collect the waits; a recorder of waits leaves out those of streams that do no work."""
    host, waits = timeline.host, timeline.waits
    rows = _recorded_waits(timeline)
    if len(rows) == 0:
        asked = _asked_waits(timeline)
        at, unknown = host.start[asked], np.full(len(asked), -1, dtype=np.int64)
        return _StreamWaits(at, host.thread[asked].astype(np.int64), unknown, unknown, unknown, at)
    asked = _calls(timeline, waits.correlation[rows])
    recorded = _calls(timeline, waits.record_correlation[rows])
    at = np.where(asked >= 0, host.start[asked], waits.start[rows])
    return _StreamWaits(
        at=at,
        thread=np.where(asked >= 0, host.thread[asked], -1),
        device=waits.device[rows].astype(np.int64),
        stream=waits.stream[rows],
        source_stream=waits.source_stream[rows],
        recorded_at=np.where(recorded >= 0, host.start[recorded], at),
    )


def _calls(timeline: Timeline, correlation: Ints) -> Ints:
    """Host row of the first call of each correlation; -1 for none."""
    host = timeline.host
    calls = np.flatnonzero((host.kind == HostKind.RUNTIME) & (host.correlation >= 0))
    calls = calls[np.argsort(host.correlation[calls], kind="stable")]
    if len(calls) == 0:
        return np.full(len(correlation), -1, dtype=np.int64)
    place = np.searchsorted(host.correlation[calls], correlation)
    found = calls[np.minimum(place, len(calls) - 1)]
    return np.where((correlation >= 0) & (host.correlation[found] == correlation), found, -1)


def joined_rows(timeline: Timeline) -> tuple[Ints, Ints]:
    """Return rows that the host made wait for another stream, and the rows that they waited for.

    What waits is the first row that the host issued into the waiting stream since, and it waits for
    the last one that it had issued into the other stream when it recorded the event. A recording
    may say neither stream: then the waiting one is taken to be that of the thread's next launch,
    the other one that of its last launch before into another stream. Of several rows that one
    waited for, it is the last to have ended.
    """
    host, gpu = timeline.host, timeline.gpu
    waits = _stream_waits(timeline)
    launched = np.flatnonzero(gpu.launch >= 0)
    if len(waits.at) == 0 or len(launched) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    issue = host.start[gpu.launch[launched]]
    thread = host.thread[gpu.launch[launched]].astype(np.int64)
    device = gpu.device[launched].astype(np.int64)
    count = len(launched)
    # The streams of rows, of what waits and of what is waited for, in one numbering.
    streams = numbered(
        np.concatenate([device, waits.device, waits.device]),
        np.concatenate([gpu.stream[launched], waits.stream, waits.source_stream]),
    )
    stream, waiting, source = np.split(streams, [count, count + len(waits.at)])
    by_stream, by_thread = Lines(stream, issue), Lines(thread, issue)
    row = np.where(
        waits.stream >= 0,
        by_stream.first_after(waiting, waits.at),
        by_thread.first_after(waits.thread, waits.at),
    )
    before = np.where(
        waits.source_stream >= 0,
        by_stream.last_until(source, waits.recorded_at),
        _last_elsewhere(thread, device, stream, issue, row, waits),
    )
    found = (row >= 0) & (before >= 0)
    row, before = launched[row[found]], launched[before[found]]
    by_end = np.lexsort((gpu.end[before], row))
    last = by_end[np.append(begins_run(row[by_end])[1:], True)] if len(row) else by_end
    return row[last], before[last]


def _last_elsewhere(  # noqa: PLR0913 - columns of the launched rows
    thread: Ints, device: Ints, stream: Ints, issue: Ints, row: Ints, waits: _StreamWaits
) -> Ints:
    """The last row that a wait's thread had issued on ``row``'s device into another stream."""
    count = len(thread)
    lines = numbered(np.concatenate([thread, waits.thread]), np.concatenate([device, device[row]]))
    line, of_wait = lines[:count], lines[count:]
    last = Lines(line, issue).last_until(of_wait, waits.at)
    order = np.lexsort((issue, line))
    begins = np.maximum.accumulate(
        np.where(begins_run(line[order], stream[order]), np.arange(count), 0)
    )
    before_run = np.empty(count, dtype=np.int64)
    before_run[order] = np.where(begins > 0, order[begins - 1], -1)
    before_run[line[before_run] != line] = -1
    same = stream[last] == stream[row]
    return np.where((last >= 0) & (row >= 0), np.where(same, before_run[last], last), -1)


def rows_ended_just_then(timeline: Timeline, rows: Ints, ready: Ints) -> tuple[Ints, Bytes]:
    """Return the row of another stream that each row seems to have waited for since ``ready``.

    The last one to have ended by its start, if that was just before; else the last kernel to have
    started that still ran. With the kind of dependency; -1 and none for none.
    """
    gpu = timeline.gpu
    by_end = np.argsort(gpu.end, kind="stable")
    start = gpu.start[rows]
    last = np.searchsorted(gpu.end[by_end], start, side="right")
    found = np.full(len(rows), -1, dtype=np.int64)
    kind = np.full(len(rows), Dependency.NONE, dtype=np.uint8)
    # A program whose waits are recorded has no others that are its own.
    own = len(_asked_waits(timeline)) > 0 and not waits_are_recorded(timeline)
    since = np.maximum(ready, start - UNEXPLAINED_NS)
    left = np.flatnonzero(last > 0)
    for back in range(1, _LOOK_BACK + 1):
        left = left[last[left] >= back]
        candidate = by_end[last[left] - back]
        recent = gpu.end[candidate] >= since[left]
        left, candidate = left[recent], candidate[recent]
        # Of rows that begin and end at one moment none waits for a later one, or all would.
        hit = (candidate < rows[left]) & _elsewhere(timeline, candidate, rows[left])
        found[left[hit]] = candidate[hit]
        kind[left[hit]] = Dependency.EVENT if own else Dependency.HOLDER
        left = left[~hit]
        if len(left) == 0:
            break
    kernels = np.where(gpu.kind == GpuKind.KERNEL, gpu.end, np.iinfo(np.int64).min)
    left = np.flatnonzero(found < 0)
    before = rows[left]
    while len(left):
        running = last_above(kernels, before, start[left])
        left, running = left[running >= 0], running[running >= 0]
        hit = _elsewhere(timeline, running, rows[left]) & (gpu.start[running] < start[left])
        found[left[hit]], kind[left[hit]] = running[hit], Dependency.HOLDER
        left, before = left[~hit], running[~hit]
    return found, kind


def _elsewhere(timeline: Timeline, one: Ints, other: Ints) -> Flags:
    gpu = timeline.gpu
    same_device = gpu.device[one] == gpu.device[other]
    return np.asarray(same_device & (gpu.stream[one] != gpu.stream[other]), dtype=bool)
