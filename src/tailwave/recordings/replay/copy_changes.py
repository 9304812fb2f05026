"""What-ifs of copies over the host link: pinned and overlapped with the kernels, or of no bytes."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, GpuKind, Ints
from tailwave.recordings.replay.change import (
    Changed,
    in_steps,
    issuer,
    without_targets,
    without_work,
)
from tailwave.recordings.replay.program import Dependency, Program, expanded
from tailwave.recordings.timeline.calls import SIZEABLE_COPY, direction, is_migration
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.hostwork import Activity
from tailwave.recordings.timeline.link import link_speed


def async_copy(case: Case, program: Program) -> Changed:
    """Run sizeable copies over the host link on streams of their own, at the link's speed.

    The host is no longer held by them. What a step copies to the GPU is for the step that follows,
    and each copy runs as soon as those before it have ended, so that the link stays the limit. What
    a step copies to the host is what the step before made, and nothing waits for it. What the first
    step needs is there. A single step needs its own copies, and fetches what it made itself.
    """
    to_gpu, to_host = (_sizeable(case, program, way) for way in ("HtoD", "DtoH"))
    moved = to_gpu | to_host
    if not moved.any():
        return Changed(program, ("no sizeable copy over the host link",))
    link = link_speed(case.timeline, case.device)
    changed = _released(program, moved)
    size: Floats = case.timeline.gpu.bytes[program.row].astype(np.float64)
    at_link = np.minimum((size / link * 1e3).astype(np.int64), program.duration)
    _, fetched = _last_copies(program, to_host)
    made = np.where(fetched >= 0, _before_in_stream(program)[fetched], -1)
    own = int(program.stream.max()) + 1
    changed = msgspec.structs.replace(
        changed,
        duration=np.where(moved, at_link, program.duration),
        stream=np.where(to_gpu, own, np.where(to_host, own + 1, program.stream)),
        dep=np.where(to_gpu, -1, np.where(to_host, made, changed.dep)),
        dep_lag=np.where(moved, 0, changed.dep_lag),
        latency=np.where(to_gpu, 0, program.latency),
        gap=np.where(moved, 0, program.gap),
    )
    begin = int(case.steps.complete_from[0])
    return Changed(_ahead(changed, to_gpu, begin), (f"link speed {link / 1e3:.0f} GB/s",))


def without_bytes(case: Case, program: Program) -> Changed:
    """Let sizeable copies over the host link take no time: the most that fewer bytes can bring."""
    over_link = _sizeable(case, program, "HtoD") | _sizeable(case, program, "DtoH")
    duration = np.where(over_link, 0, program.duration)
    return Changed(msgspec.structs.replace(program, duration=duration))


def _sizeable(case: Case, program: Program, way: str) -> Flags:
    """Tell which rows of the steps are copies in a direction that take their time for the bytes."""
    gpu, names = case.timeline.gpu, case.timeline.names
    mine = np.array([direction(n) == way and not is_migration(n) for n in names], dtype=bool)
    rows = program.row
    copied = mine[gpu.name[rows]] & (gpu.kind[rows] == GpuKind.MEMCPY) & (program.row_step >= 0)
    return np.asarray(copied & (gpu.bytes[rows] >= SIZEABLE_COPY), dtype=bool)


def _before_in_stream(program: Program) -> Ints:
    """The row before each row in its stream, -1 for the first."""
    order = np.lexsort((np.arange(len(program.row)), program.stream))
    before = np.full(len(order), -1, dtype=np.int64)
    same = np.diff(program.stream[order]) == 0
    before[order[1:][same]] = order[:-1][same]
    return before


def _released(program: Program, moved: Flags) -> Program:
    """Let the host neither be held by the moved copies nor wait for them."""
    held = in_steps(program) & (program.activity == Activity.COPY)
    holding = np.zeros(len(program.lane), dtype=bool)
    issuers = issuer(program)[moved]
    holding[issuers[issuers >= 0]] = True
    changed = without_targets(program, held | holding | _waits_for(program, moved))
    changed = without_work(changed, in_steps(program), (Activity.COPY,))
    hold = changed.hold.copy()
    hold[held & ~holding] = 0
    hold[holding] = np.minimum(hold[holding], _call_time(program, holding))
    return msgspec.structs.replace(changed, hold=hold)


def _waits_for(program: Program, moved: Flags) -> Flags:
    """Tell which actions wait for a moved copy and for nothing else."""
    owner = expanded(program.targets)[1]
    waits = np.zeros(len(program.lane), dtype=bool)
    waits[owner[moved[program.target_row]]] = True
    return waits & in_steps(program)


def _call_time(program: Program, holding: Flags) -> int:
    """What an asynchronous call takes on this host: the median of the calls that held nothing."""
    calls = (program.host_row >= 0) & ~holding & (program.targets[:, 1] == program.targets[:, 0])
    return int(np.median(program.hold[calls])) if calls.any() else 0


def _last_copies(program: Program, moved: Flags) -> tuple[Ints, Ints]:
    """For each row the last copy of its own step, and of the step whose copies it depends on.

    -1 where there is none.
    """
    own = np.full(program.step_count, -1, dtype=np.int64)
    np.maximum.at(own, program.row_step[moved], np.flatnonzero(moved))
    needed, copying = own.copy(), np.flatnonzero(own >= 0)
    if program.step_count > 1:
        needed[copying[1:]] = own[copying[:-1]]
        needed[copying[:1]] = -1
    step = np.maximum(program.row_step, 0)
    inside = program.row_step >= 0
    return np.where(inside, own[step], -1), np.where(inside, needed[step], -1)


def _ahead(program: Program, moved: Flags, begin: int) -> Program:
    """Issue copies to the GPU one after the other from the first step's beginning on (ns).

    What follows a step's own copies waits for those that it depends on.
    """
    own, needed = _last_copies(program, moved)
    follows = (own >= 0) & (np.arange(len(own)) > own)
    waiting = follows & ~moved & (needed >= 0) & (program.dep < 0)
    issue, chained = program.issue.copy(), np.flatnonzero(moved)
    # Issued at once, the copies follow each other on the link.
    ends = begin + np.cumsum(program.duration[chained])
    issue[chained] = ends - program.duration[chained]
    return msgspec.structs.replace(
        program,
        issue=issue,
        dep=np.where(waiting, needed, program.dep),
        dep_kind=np.where(waiting, Dependency.EVENT, program.dep_kind).astype(np.uint8),
        dep_lag=np.where(waiting, 0, program.dep_lag),
    )
