"""Pages of managed memory in a program, and what if they moved before they are touched.

Pages that move are no work that somebody issued: they are part of the kernel, or of the host's
work, that touched them. What a program keeps of them is that a step is not over before they moved.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, GpuTable, Ints
from tailwave.recordings.replay.change import Changed
from tailwave.recordings.replay.program import Dependency, Program
from tailwave.recordings.timeline.calls import direction
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.intervals import covered_by_group, overlap, union
from tailwave.recordings.timeline.link import link_speed
from tailwave.recordings.timeline.migrations import migrations


def with_pages(case: Case, program: Program) -> Program:
    """Add the moves of each step, those of one kind as one row, to a program without any.

    Each kind has a stream of its own, which runs from the first step's beginning on.
    """
    gpu, steps = case.timeline.gpu, case.steps
    moving = migrations(case.timeline) & (gpu.device == case.device.index) & (steps.gpu_step >= 0)
    for name in np.unique(gpu.name[moving]).tolist():
        rows = np.flatnonzero(moving & (gpu.name == name))
        start, end, step = gpu.start[rows], gpu.end[rows], steps.gpu_step[rows]
        took = covered_by_group(start, end, step, len(steps))
        program = _in_front(program, int(rows[0]), took, int(steps.complete_from[0]))
    return program


def _in_front(program: Program, row: int, took: Ints, begin: int) -> Program:
    """Put a stream of rows, one a step, before all others, as if issued before the recording.

    ``row`` of the GPU table stands for each; they begin at ``begin`` (ns), one after the other.
    """
    count = len(took)
    front = {
        "row": np.full(count, row),
        "row_step": np.arange(count),
        "stream": np.full(count, program.stream.max(initial=-1) + 1),
        "duration": took,
        "latency": np.zeros(count),
        "gap": np.zeros(count),
        "dep": np.full(count, -1 - count),
        "dep_lag": np.zeros(count),
        "dep_kind": np.full(count, Dependency.NONE),
        "issue": np.where(np.arange(count) == 0, begin, -1),
        "counts": np.ones(count),
    }
    columns = {
        name: np.concatenate([ahead.astype(old.dtype), old])
        for name, ahead in front.items()
        for old in (getattr(program, name),)
    }
    dep = np.where(columns["dep"] >= 0, columns["dep"] + count, -1)
    return msgspec.structs.replace(
        program,
        **{**columns, "dep": dep},
        rows=program.rows + count,
        target_row=program.target_row + count,
    )


def prefetch_pages(case: Case, program: Program) -> Changed:
    """Move the pages that were touched ahead of use, in bulk at the link's speed.

    Pages that came to a GPU held its kernels, those that came back held the host, both for as long
    as they moved: kernels and host work lose that time. No step takes less than its bytes need on
    the link.
    """
    gpu = case.timeline.gpu
    touched = migrations(case.timeline, "touched") & (gpu.device == case.device.index)
    if not touched.any():
        return Changed(program, ("no page of managed memory moved because it was touched",))
    ways = np.array([direction(name) for name in case.timeline.names])[gpu.name]
    link = link_speed(case.timeline, case.device)
    changed = _in_bulk(gpu, program, touched, link)
    changed = _released_kernels(gpu, changed, touched & (ways != "DtoH"))
    changed = _released_host(case, changed, touched & (ways == "DtoH"))
    return Changed(changed, (f"link speed {link / 1e3:.0f} GB/s", _unknown(touched & (ways == ""))))


def _unknown(faults: Flags) -> str:
    """Say whose faults were not recorded."""
    whose = "the host" if faults.any() else "GPU and host"
    return f"what faults of {whose} cost beyond the moves is not recorded, and would be saved too"


def _in_bulk(gpu: GpuTable, program: Program, touched: Flags, link: float) -> Program:
    """Let what was touched move at the link's speed (bytes per us), if that is faster."""
    duration = program.duration.copy()
    for name in np.unique(gpu.name[touched]).tolist():
        rows = touched & (gpu.name == name)
        start, end = union(gpu.start[rows], gpu.end[rows])
        size = float(np.maximum(gpu.bytes[rows], 0).sum())
        faster = min(size / link * 1e3 / max(int((end - start).sum()), 1), 1.0)
        mine = touched[program.row] & (gpu.name[program.row] == name)
        duration[mine] = (duration[mine] * faster).astype(np.int64)
    return msgspec.structs.replace(program, duration=duration)


def _released_kernels(gpu: GpuTable, program: Program, pages: Flags) -> Program:
    """Take off kernels, and off the time before they began, that in which pages moved."""
    moving = union(gpu.start[pages], gpu.end[pages])
    start, end = gpu.start[program.row], gpu.end[program.row]
    within = np.where(pages[program.row], 0.0, _share(moving, start, end))
    before = overlap(*moving, start - np.maximum(program.latency, 0), start)
    return msgspec.structs.replace(
        program,
        duration=(program.duration * (1.0 - within)).astype(np.int64),
        latency=program.latency - before,
    )


def _released_host(case: Case, program: Program, pages: Flags) -> Program:
    """Take off host work the share of it in which pages moved."""
    gpu, host, steps = case.timeline.gpu, case.timeline.host, case.steps
    moving = union(gpu.start[pages], gpu.end[pages])
    called = program.host_row >= 0
    start = np.full(len(called), steps.host_end[-1])
    end = np.full(len(called), steps.host_start[0])
    start[called], end[called] = (
        column[program.host_row[called]] for column in (host.start, host.end)
    )
    # The work before a step's boundary and that after it are one stretch, between two calls.
    place, fresh = np.arange(len(start)), np.diff(program.lane, prepend=-1) != 0
    opens = fresh | np.append(True, called[:-1])
    low = np.where(fresh, steps.host_start[0], np.append(0, end[:-1]))
    low = low[np.maximum.accumulate(np.where(opens, place, 0))]
    closes = called | np.append(fresh[1:], True)
    high = start[np.minimum.accumulate(np.where(closes, place, len(place))[::-1])[::-1]]
    work = _share(moving, low, high)
    hold = np.where(called, _share(moving, start, end), 0.0)
    return msgspec.structs.replace(
        program,
        work=(program.work * (1.0 - work[:, np.newaxis])).astype(np.int64),
        hold=(program.hold * (1.0 - hold)).astype(np.int64),
    )


def _share(moving: tuple[Ints, Ints], low: Ints, high: Ints) -> Floats:
    """Share of each window in which pages moved."""
    length = np.maximum(high - low, 0)
    return np.asarray(overlap(*moving, low, low + length) / np.maximum(length, 1))
