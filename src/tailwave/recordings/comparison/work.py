"""What a recording's GPU did in a step, and what its host did to issue it."""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tailwave.model import Bytes, Flags, Floats, GpuKind, HostKind, Ints, Timeline
from tailwave.recordings.replay.division import Cause, Division
from tailwave.recordings.timeline.calls import crosses_link, is_graph_launch
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.intervals import covered, union
from tailwave.recordings.timeline.launches import issued_in_order
from tailwave.recordings.timeline.losses import communication
from tailwave.recordings.timeline.migrations import migrations

# Of a longer step only so many launches are put beside the other's.
_LONGEST = 20_000


class Class(enum.IntEnum):
    """What a piece of GPU work is, as the division of a step tells it apart."""

    KERNEL = 0
    MEMORY = 1  # memsets, and copies within the GPU: kernels to the division
    COLLECTIVE = 2
    COPY = 3  # over the link to the host
    MIGRATION = 4


class Kernel(msgspec.Struct, frozen=True):
    """GPU work that is the same wherever it occurs: by its name, class and shape."""

    name: str
    kind: Class
    grid: int
    block: int


class Work(msgspec.Struct, frozen=True):
    """What a mean step consists of: a figure a step for each of ``kernels``.

    ``calls`` is how often it runs, ``us`` how long, with ``bytes`` moved; ``launches`` counts the
    host's calls that launch it (a graph's counts for its first node), ``issuing_us`` is the time
    that the host issues until then from the launch before, and ``waited_us`` that in which the GPU
    idles for it meanwhile. ``sequence`` is the step of the usual number of launches: which of the
    kernels each was; ``operators`` is the innermost operator around it, "" where none is recorded.
    ``graphs`` tells whether graphs are launched.
    """

    kernels: tuple[Kernel, ...]
    calls: Floats
    us: Floats
    bytes: Floats
    launches: Floats
    issuing_us: Floats
    waited_us: Floats
    sequence: Ints
    operators: tuple[str, ...]
    graphs: bool

    def are(self, *classes: Class) -> Flags:
        """Tell which of the kernels are of some classes."""
        return np.isin([kernel.kind for kernel in self.kernels], classes)


def work_of(case: Case, division: Division) -> Work:
    """Count what the steps of a case consist of, and what ran in them that others launched."""
    timeline, steps, gpu = case.timeline, case.steps, case.timeline.gpu
    low, high = int(steps.complete_from[0]), int(steps.complete_to[-1])
    within = np.minimum(gpu.end, high) - np.maximum(gpu.start, low)
    ran = np.where(case.gpu_rows, gpu.end - gpu.start, np.maximum(within, 0))
    mine = case.gpu_rows | ((gpu.device == case.device.index) & (within > 0))
    rows = np.flatnonzero(mine)
    shapes = np.stack([gpu.name, classes(timeline), gpu.grid, gpu.block])[:, rows]
    found, inverse = np.unique(shapes, axis=1, return_inverse=True)
    code = np.full(len(gpu), -1, dtype=np.int64)
    code[rows] = inverse.reshape(-1)

    def a_step(of: Ints, figures: Floats | Ints | None = None) -> Floats:
        """Sum up the figures of some rows by kernel."""
        return np.bincount(code[of], weights=figures, minlength=found.shape[1]) / len(steps)

    step = np.where(case.gpu_rows, steps.gpu_step, -1)
    launched = np.bincount(step[step >= 0], minlength=len(steps))
    usual = np.flatnonzero(step == np.argsort(launched, kind="stable")[len(steps) // 2])
    usual = usual[np.lexsort((gpu.start[usual], issued_in_order(timeline)[usual]))][:_LONGEST]
    first, issuing = _issued(case)
    pieces = division.pieces
    waits = (pieces.cause == Cause.LAUNCH) & (pieces.gpu_row >= 0)
    waits[waits] = code[pieces.gpu_row[waits]] >= 0
    graphs = {code for code, name in enumerate(timeline.names) if is_graph_launch(name)}
    return Work(
        kernels=tuple(
            Kernel(timeline.names[name], Class(kind), int(grid), int(block))
            for name, kind, grid, block in found.T.tolist()
        ),
        calls=a_step(rows),
        us=a_step(rows, ran[rows] / 1e3),
        bytes=a_step(rows, np.maximum(gpu.bytes[rows], 0)),
        launches=a_step(first),
        issuing_us=a_step(first, issuing / 1e3),
        waited_us=a_step(pieces.gpu_row[waits], pieces.ns[waits] / 1e3),
        sequence=code[usual],
        operators=_operators(case, gpu.launch[usual]),
        graphs=not graphs.isdisjoint(timeline.host.name[gpu.launch[first]].tolist()),
    )


def classes(timeline: Timeline) -> Bytes:
    """Return the Class of every GPU row."""
    gpu = timeline.gpu
    copied = gpu.kind == GpuKind.MEMCPY
    over_link = np.array([crosses_link(name) for name in timeline.names], dtype=bool)
    found = np.where(gpu.kind == GpuKind.KERNEL, Class.KERNEL, Class.MEMORY).astype(np.uint8)
    found[communication(timeline)] = Class.COLLECTIVE
    found[copied & over_link[gpu.name]] = Class.COPY
    found[migrations(timeline)] = Class.MIGRATION
    return found


def _issued(case: Case) -> tuple[Ints, Ints]:
    """Return the first row of each launch of the steps, and how long (ns) it took to issue it.

    That is what its lane spent issuing since the launch before it returned, and in its own call.
    """
    gpu, host = case.timeline.gpu, case.timeline.host
    rows = np.flatnonzero(case.gpu_rows & (gpu.launch >= 0))
    launch, first = np.unique(gpu.launch[rows], return_index=True)
    took = np.zeros(len(launch), dtype=np.int64)
    begin, end = case.steps.host_start[0], case.steps.host_end[-1]
    for lane, work in zip(case.lanes, case.work, strict=True):
        mine = np.flatnonzero(np.isin(host.thread[launch], lane.threads))
        issuing = work.activity == Activity.ISSUE
        busy = union(work.start[issuing], work.end[issuing])
        until = np.clip(host.end[launch[mine]], begin, end)
        took[mine] = np.diff(covered(*busy, until), prepend=covered(*busy, np.array([begin])))
    return rows[first], np.maximum(took, 0)


def _operators(case: Case, launch: Ints) -> tuple[str, ...]:
    """Name the innermost operator around some calls: what the host was in just before."""
    host, names = case.timeline.host, case.timeline.names
    found = [""] * len(launch)
    known = np.flatnonzero(launch >= 0)
    for lane in case.lanes:
        mine = known[np.isin(host.thread[launch[known]], lane.threads)]
        before = np.searchsorted(lane.start, host.start[launch[mine]]) - 1
        mine, around = mine[before >= 0], lane.leaf[before[before >= 0]]
        encloses = host.kind[around] == HostKind.OPERATOR
        encloses &= host.end[around] > host.start[launch[mine]]
        for place, row in zip(mine[encloses], around[encloses], strict=True):
            found[place] = names[host.name[row]]
    return tuple(found)
