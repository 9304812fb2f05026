"""What to call a stretch of host work: the outermost name that tells of it and of little else.

A scope (an annotation, a Python frame, an operator) tells of a stretch when it lies over most of it
and launches no kernel: what launches kernels is the step, the model or a part of it, and tells
nothing. Of such scopes the outermost is what the user's code called.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tailwave.model import Flags, HostKind, Ints, Timeline
from tailwave.recordings.timeline.hostwork import LOADER_ANNOTATION, Activity, HostWork
from tailwave.recordings.timeline.lanes import Lane
from tailwave.recordings.timeline.scopes import (
    Scopes,
    named,
    outermost,
    quiet,
    side_by_side,
)
from tailwave.recordings.timeline.startup import compiles

_PROFILERS = re.compile(r"ProfilerStep|PyTorch Profiler")
# Of Python frames the user's code and its libraries, but for the framework's own.
_FRAME = re.compile(r"^(?!(.*/)?(torch|jax|jaxlib|tensorflow|cupy)/).*\.py\(|^nn\.Module: ")
# Functions without a frame; those of tensors are operators, which have better names.
_BUILT_IN = re.compile(r"^<built-in (?!.*(Tensor|torch|type object))")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NUMBER = re.compile(r"\d+")
_BACKWARD = "autograd::engine::evaluate_function: "
_MARKS = (HostKind.ANNOTATION, HostKind.OPERATOR)


class WorkNames:
    """Names stretches of host work."""

    def __init__(self, timeline: Timeline) -> None:
        """Find the scopes of a timeline that may lend their names."""
        self._timeline = timeline
        self._offset = side_by_side(timeline, tuple(range(len(timeline.threads))))
        loader = self._coded(lambda name: name.startswith(LOADER_ANNOTATION))
        everything = np.ones(len(timeline.names), dtype=bool)
        useful = (
            (self._coded(lambda name: not _PROFILERS.match(name)), HostKind.ANNOTATION),
            (self._coded(lambda name: bool(_FRAME.search(name))), HostKind.PYTHON),
            (everything, HostKind.OPERATOR),
            (self._coded(lambda name: bool(_BUILT_IN.match(name))), HostKind.PYTHON),
        )
        marked = named(timeline, loader, _MARKS)
        scopes = [marked, *(quiet(timeline, named(timeline, *own), self._offset) for own in useful)]
        self._scopes = [outermost(timeline, rows, self._offset) for rows in scopes]
        compiling = named(timeline, self._coded(compiles), (*_MARKS, HostKind.PYTHON))
        self._compiling = [outermost(timeline, compiling, self._offset)]

    def of(self, lane: Lane, work: HostWork, stretches: Ints) -> list[str]:
        """Name stretches (indices into ``work``) of a lane."""
        starts = work.activity[stretches] == Activity.STARTUP
        row = np.where(
            starts,
            self._over(self._compiling, lane, work, stretches),
            self._over(self._scopes, lane, work, stretches),
        )
        # The outermost operator or call, of a pause that before it.
        top = lane.top[
            np.maximum(np.searchsorted(lane.start, work.start[stretches], "right") - 1, 0)
        ]
        top = np.where(starts, work.row[stretches], top)
        begun = self._timeline.host.start[top] <= work.start[stretches]
        columns = (row.tolist(), top.tolist(), work.pause[stretches].tolist(), begun.tolist())
        return [self._name(*column) for column in zip(*columns, strict=True)]

    def _coded(self, tell: Callable[[str], bool]) -> Flags:
        return np.array([tell(name) for name in self._timeline.names], dtype=bool)

    def _over(self, ranks: list[Scopes], lane: Lane, work: HostWork, stretches: Ints) -> Ints:
        """Find the row that lends a stretch its name; -1 if none does."""
        start, end = work.start[stretches], work.end[stretches]
        thread = self._timeline.host.thread[work.row[stretches]]
        found = np.full(len(stretches), -1, dtype=np.int64)
        for scopes in ranks:
            for own in lane.threads:
                # Any thread of a lane may be what the others pause for.
                mine = work.pause[stretches] | (thread == own)
                over = scopes.over(start + self._offset[own], end + self._offset[own])
                found = np.where((found < 0) & mine, over, found)
        return found

    def _name(self, row: int, top: int, pause: bool, begun: bool) -> str:  # noqa: FBT001
        if row >= 0:
            return self._readable(row)
        if not pause:
            return self._readable(top)
        return f"a pause {'after' if begun else 'before'} {self._readable(top)}"

    def _readable(self, row: int) -> str:
        host = self._timeline.host
        name = self._timeline.names[int(host.name[row])]
        if name.startswith(LOADER_ANNOTATION):
            return "DataLoader.__next__"
        if host.kind[row] == HostKind.ANNOTATION:
            # The ranges of all steps have one name.
            return _NUMBER.sub("#", name)
        return _ADDRESS.sub("", name.removeprefix(_BACKWARD))
