"""What-if: copies from pinned memory, overlapped with the kernels."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, GpuKind, Ints
from tailwave.replay.change import Changed, in_steps, issuer, without_targets, without_work
from tailwave.replay.program import Dependency, Program
from tailwave.timeline.calls import direction
from tailwave.timeline.case import Case
from tailwave.timeline.hostwork import Activity
from tailwave.timeline.link import link_speed

# Smaller copies take their latency, not their bytes; they stay as they are.
_WORTH_MOVING = 64 << 10


def async_copy(case: Case, program: Program) -> Changed:
    """Run large host-to-GPU copies on a stream of their own, at the link's speed, a step ahead.

    The host is no longer held by them. The kernels of a step still wait for the step's copies,
    which have been running since the copies before them ended: the link stays the limit.
    """
    moved = _moved(case, program)
    if not moved.any():
        return Changed(program, ("no large copy from the host",))
    link = link_speed(case.timeline, case.device)
    size: Floats = case.timeline.gpu.bytes[program.row].astype(np.float64)
    at_link = (size / link * 1e3).astype(np.int64)
    by = issuer(program)
    holding = np.zeros(len(program.lane), dtype=bool)
    holding[by[moved]] = True
    held = in_steps(program) & (program.activity == Activity.COPY)
    changed = without_targets(program, holding | held)
    changed = without_work(changed, in_steps(program), (Activity.COPY,))
    hold = changed.hold.copy()
    hold[held] = 0
    hold[holding] = np.minimum(hold[holding], _call_time(program, holding))
    return Changed(
        _ahead(
            msgspec.structs.replace(
                changed,
                hold=hold,
                duration=np.where(moved, np.minimum(at_link, program.duration), program.duration),
                stream=np.where(moved, int(program.stream.max()) + 1, program.stream),
                dep=np.where(moved, -1, changed.dep),
                latency=np.where(moved, 0, program.latency),
                gap=np.where(moved, 0, program.gap),
            ),
            moved,
        ),
        (f"link speed {link / 1e3:.0f} GB/s",),
    )


def _moved(case: Case, program: Program) -> Flags:
    gpu = case.timeline.gpu
    names = np.array([direction(name) == "HtoD" for name in case.timeline.names], dtype=bool)
    rows = program.row
    large = (gpu.kind[rows] == GpuKind.MEMCPY) & names[gpu.name[rows]]
    worth = gpu.bytes[rows] >= _WORTH_MOVING
    issued = (program.row_step >= 0) & (issuer(program) >= 0)
    return np.asarray(large & worth & issued, dtype=bool)


def _call_time(program: Program, holding: Flags) -> int:
    """What an asynchronous call takes on this host: the median of the calls that held nothing."""
    calls = (program.host_row >= 0) & ~holding & (program.targets[:, 1] == program.targets[:, 0])
    return int(np.median(program.hold[calls])) if calls.any() else 0


def _ahead(program: Program, moved: Flags) -> Program:
    """Issue each step's copies when the step before begins; its kernels wait for the last one."""
    issue = program.issue.copy()
    dep, kind, lag = program.dep.copy(), program.dep_kind.copy(), program.dep_lag.copy()
    begin = int(program.lane_start.min())
    for step in range(program.step_count):
        copies = np.flatnonzero(moved & (program.row_step == step))
        if len(copies) == 0:
            continue
        issue[copies] = begin
        kernels = np.flatnonzero(~moved & (program.row_step == step))
        waiting = kernels[(kernels > copies[-1]) & (dep[kernels] < 0)]
        dep[waiting], kind[waiting], lag[waiting] = copies[-1], Dependency.EVENT, 0
    chained: Ints = np.flatnonzero(moved & (issue >= 0))
    # Issued at once, the copies follow each other on the link.
    ends = begin + np.cumsum(program.duration[chained])
    issue[chained] = ends - program.duration[chained]
    return msgspec.structs.replace(program, issue=issue, dep=dep, dep_kind=kind, dep_lag=lag)
