"""Where each microsecond of a step went, seen from the GPU, and who caused each idle one.

A step is cut into time in which kernels ran, time in which only copies ran, and idle gaps. A gap
ends when some GPU work starts. If its launch had been issued before the gap, the GPU itself took
that long (latency in flight, a dependency). Otherwise the host was late, and is charged for it:
first to the time that the host lost since (waiting, held by a copy, starved, stretched), in the
order in which it was lost, and the remainder to issuing itself. Lost time is carried forward,
because a host that waited 50 us in one layer issues every later layer 50 us late; it is cancelled
when the host next waits for the GPU, for then the GPU sets the pace again.
"""

from __future__ import annotations

import enum
from collections import deque

import msgspec
import numpy as np

from tailwave.model import Bytes, GpuKind, Ints, Timeline
from tailwave.recordings.timeline.calls import crosses_link
from tailwave.recordings.timeline.hostwork import Activity, HostWork, host_work
from tailwave.recordings.timeline.intervals import complement, overlap, union
from tailwave.recordings.timeline.lanes import Lane, build_lanes
from tailwave.recordings.timeline.launches import NOT_RECORDED, issued
from tailwave.recordings.timeline.steps import Steps


class Cause(enum.IntEnum):
    """What a piece of a step was spent on; the pieces of a step add up to the step."""

    KERNEL = 0  # at least one kernel, memset or copy within the GPU ran
    COPY = 1  # only copies over the host link ran
    LAUNCH = 2  # idle: the host was issuing, too slowly
    SYNC = 3  # idle: the host had waited for the GPU
    BLOCKED_COPY = 4  # idle: a copy had held the host
    STARVED = 5  # idle: the host issued nothing
    CONTENTION = 6  # idle: host work was stretched
    LATENCY = 7  # idle: the work was issued; the GPU took this long to begin
    UNKNOWN = 8  # idle: the launch that ended the gap is not in the recording


_BY_ACTIVITY = {
    Activity.SYNC: Cause.SYNC,
    Activity.COPY: Cause.BLOCKED_COPY,
    Activity.STARVED: Cause.STARVED,
    Activity.STRETCHED: Cause.CONTENTION,
    Activity.STARTUP: Cause.STARVED,
}
# A wait shorter than this (ns) returned at once: the GPU had nothing left to do.
_REAL_WAIT_NS = 20_000


class Pieces(msgspec.Struct, frozen=True):
    """Charged idle time: one row per gap and cause.

    ``gpu_row`` is the work that ended the gap, ``host_row`` the host call that explains it (the
    launch itself when issuing was too slow), -1 if none.
    """

    step: Ints
    cause: Bytes
    ns: Ints
    gpu_row: Ints
    host_row: Ints


class Attribution(msgspec.Struct, frozen=True):
    """The division of every step: ``ns`` has one row per step and one column per Cause."""

    device: int
    ns: Ints
    pieces: Pieces
    launch_latency: int  # ns from the launch call to the start, when the GPU was idle
    lanes: tuple[Lane, ...]
    work: tuple[HostWork, ...]

    def typical(self, cause: Cause) -> float:
        """Median over the steps of the time that went to a cause (us)."""
        return float(np.median(self.ns[:, cause])) / 1e3


def attribute(timeline: Timeline, steps: Steps, device: int) -> Attribution:
    """Divide every step on one device."""
    lanes = build_lanes(timeline)
    work = host_work(timeline, lanes, steps)
    rows = np.flatnonzero(timeline.gpu.device == device)
    latency = launch_latency(timeline, rows)
    ledgers: dict[int, _Ledger] = {}
    for lane, done in zip(lanes, work, strict=True):
        ledgers |= dict.fromkeys(lane.threads, _Ledger(done, int(steps.host_start[0])))
    pieces = _charge(timeline, steps, rows, ledgers, latency)
    table = _busy(timeline, steps, rows)
    np.add.at(table, (pieces.step, pieces.cause), pieces.ns)
    return Attribution(device, table, pieces, latency, tuple(lanes), tuple(work))


def launch_latency(timeline: Timeline, rows: Ints) -> int:
    """Median time from launch call to start of the work that found the GPU idle (ns)."""
    gpu, call = timeline.gpu, issued(timeline)[rows]
    reach = np.maximum.accumulate(gpu.end[rows])
    idle_since = np.concatenate([[NOT_RECORDED], reach[:-1]])[: len(rows)]
    late = (call > idle_since) & (gpu.start[rows] >= call)
    if not late.any():
        return 0
    return int(np.median(gpu.start[rows][late] - call[late]))


def _busy(timeline: Timeline, steps: Steps, rows: Ints) -> Ints:
    gpu = timeline.gpu
    table = np.zeros((len(steps), len(Cause)), dtype=np.int64)
    low, high = steps.complete_from, steps.complete_to
    crosses = np.array([crosses_link(name) for name in timeline.names], dtype=bool)
    computing = rows[(gpu.kind[rows] != GpuKind.MEMCPY) | ~crosses[gpu.name[rows]]]
    kernel = overlap(*union(gpu.start[computing], gpu.end[computing]), low, high)
    table[:, Cause.KERNEL] = kernel
    table[:, Cause.COPY] = overlap(*union(gpu.start[rows], gpu.end[rows]), low, high) - kernel
    return table


def _charge(
    timeline: Timeline,
    steps: Steps,
    rows: Ints,
    ledgers: dict[int, _Ledger],
    latency: int,
) -> Pieces:
    busiest = next(iter(ledgers.values()), None)
    gpu, host = timeline.gpu, timeline.host
    began = gpu.start[rows]
    busy_start, busy_end = union(began, gpu.end[rows])
    charges: list[tuple[int, int, int, int, int]] = []
    for step in range(len(steps)):
        low, high = int(steps.complete_from[step]), int(steps.complete_to[step])
        starts, ends = complement(busy_start, busy_end, low, high)
        following = np.searchsorted(began, ends)
        for begin, end, index in zip(starts.tolist(), ends.tolist(), following, strict=True):
            row = int(rows[index]) if index < len(rows) and began[index] == end else -1
            launch = int(gpu.launch[row]) if row >= 0 else -1
            if launch < 0:
                cause = Cause.UNKNOWN if row >= 0 else Cause.LAUNCH
                if row < 0 and busiest is not None:
                    # The step ended without further GPU work: the host was still at it.
                    charges += busiest.charge(step, end - begin, end, row, -1)
                    continue
                charges.append((step, cause, end - begin, row, -1))
                continue
            called = int(host.start[launch])
            in_flight = min(max(called + latency - begin, 0), end - begin)
            late = end - begin if called > begin else in_flight
            if late:
                ledger = ledgers[int(host.thread[launch])]
                charges += ledger.charge(step, late, called, row, launch)
            if late < end - begin:
                charges.append((step, Cause.LATENCY, end - begin - late, row, launch))
    return _pieces(charges)


def _pieces(charges: list[tuple[int, int, int, int, int]]) -> Pieces:
    table = np.array(charges, dtype=np.int64).reshape(-1, 5)
    return Pieces(table[:, 0], table[:, 1].astype(np.uint8), table[:, 2], table[:, 3], table[:, 4])


class _Ledger:
    """The time that a lane lost and that no idle gap has been charged to yet."""

    def __init__(self, work: HostWork, since: int) -> None:
        lost = np.flatnonzero((work.activity != Activity.ISSUE) & (work.end > since))
        self._start = np.maximum(work.start[lost], since).tolist()
        self._end = work.end[lost].tolist()
        self._activity = work.activity[lost].tolist()
        self._row = work.row[lost].tolist()
        self._next = 0
        self._owed: deque[list[int]] = deque()  # [cause, ns, host row]

    def charge(
        self, step: int, ns: int, until: int, row: int, launch: int
    ) -> list[tuple[int, int, int, int, int]]:
        """Charge a gap of ``ns`` to what the host lost before ``until``."""
        self._collect(until)
        left = ns
        charges: list[tuple[int, int, int, int, int]] = []
        while left > 0 and self._owed:
            cause, owed, culprit = self._owed[0]
            paid = min(owed, left)
            charges.append((step, cause, paid, row, culprit))
            left -= paid
            self._owed[0][1] -= paid
            if self._owed[0][1] == 0:
                self._owed.popleft()
        if left > 0:
            charges.append((step, Cause.LAUNCH, left, row, launch))
        return charges

    def _collect(self, until: int) -> None:
        while self._next < len(self._start) and self._start[self._next] < until:
            index = self._next
            end = min(self._end[index], until)
            cause = _BY_ACTIVITY[Activity(self._activity[index])]
            length = end - self._start[index]
            if cause == Cause.SYNC and length > _REAL_WAIT_NS:
                self._owed = deque(item for item in self._owed if item[0] == Cause.SYNC)
            self._owed.append([int(cause), length, self._row[index]])
            if end < self._end[index]:
                self._start[index] = end
                return
            self._next += 1
