"""Which row of another stream a GPU row waited for: seen in the times, or asked for by the host."""

from __future__ import annotations

import numpy as np

from tailwave.model import GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.replay.program import Dependency
from tailwave.recordings.timeline.calls import Call, classify_all

# A row that starts this much (ns) after all that it is known to wait for waited for something
# else: a row of another stream, if one ended just then.
UNEXPLAINED_NS = 10_000
# How many launches back the other side of a join is looked for.
_JOIN_REACH = 512


def joined_rows(timeline: Timeline, order: Ints, position: Ints) -> dict[int, int]:
    """Rows that the host made wait for another stream, with the last row issued there before.

    The recording says that a stream was made to wait, not which; it is taken to be the stream of
    the thread's next launch, and to wait for the last one before on another stream.
    """
    host, gpu = timeline.host, timeline.gpu
    calls = classify_all(timeline.names)
    runtime = host.kind == HostKind.RUNTIME
    waits = np.flatnonzero(runtime & (calls[host.name] == Call.STREAM_WAIT))
    launched = order[gpu.launch[order] >= 0]
    issue, thread = host.start[gpu.launch[launched]], host.thread[gpu.launch[launched]]
    joins: dict[int, int] = {}
    for call in waits:
        mine = launched[thread == host.thread[call]] if len(np.unique(thread)) > 1 else launched
        times = host.start[gpu.launch[mine]] if len(mine) != len(launched) else issue
        following = int(np.searchsorted(times, host.start[call], side="right"))
        if following >= len(mine):
            continue
        row = mine[following]
        for earlier in mine[max(following - _JOIN_REACH, 0) : following][::-1]:
            if gpu.stream[earlier] != gpu.stream[row] and gpu.device[earlier] == gpu.device[row]:
                joins[int(position[row])] = int(position[earlier])
                break
    return joins


class DependencyFinder:
    """Finds the row of another stream that a row waited for."""

    _LOOK_BACK = 128

    def __init__(self, timeline: Timeline) -> None:
        """Look among a timeline's rows."""
        self._gpu = timeline.gpu
        self._by_end = np.argsort(timeline.gpu.end, kind="stable")
        self._ends = timeline.gpu.end[self._by_end]
        calls = classify_all(timeline.names)
        runtime = timeline.host.kind == HostKind.RUNTIME
        self._joined = bool((calls[timeline.host.name[runtime]] == Call.STREAM_WAIT).any())

    def find(self, row: int, ready: int) -> tuple[int, int]:
        """Return the row waited for since ``ready`` and the kind of dependency, or -1."""
        gpu, start = self._gpu, int(self._gpu.start[row])
        last = int(np.searchsorted(self._ends, start, side="right"))
        for candidate in self._by_end[max(last - self._LOOK_BACK, 0) : last][::-1]:
            if gpu.end[candidate] < ready or start - gpu.end[candidate] > UNEXPLAINED_NS:
                break
            # Of rows that begin and end at one moment none waits for a later one, or all would.
            if candidate < row and self._elsewhere(int(candidate), row):
                return int(candidate), Dependency.EVENT if self._joined else Dependency.HOLDER
        running = np.flatnonzero((gpu.start[:row] < start) & (gpu.end[:row] > start))
        for candidate in running[::-1]:
            if self._elsewhere(int(candidate), row) and gpu.kind[candidate] == GpuKind.KERNEL:
                return int(candidate), Dependency.HOLDER
        return -1, Dependency.NONE

    def _elsewhere(self, candidate: int, row: int) -> bool:
        gpu = self._gpu
        return bool(
            gpu.device[candidate] == gpu.device[row] and gpu.stream[candidate] != gpu.stream[row]
        )
