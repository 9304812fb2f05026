"""What-ifs on the GPU's side: waves, warps, SM counts, partitions, merged and fused kernels."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tailwave.kernel_kinds import KernelKind
from tailwave.model import Flags, Floats, GpuKind, HostKind, Ints
from tailwave.recordings.replay.change import (
    Change,
    Changed,
    a_step,
    drop_idle_issuers,
    issuer,
    issues,
)
from tailwave.recordings.replay.program import Dependency, Program
from tailwave.recordings.replay.waves import Regime, scaling
from tailwave.recordings.timeline.case import Case
from tailwave.recordings.timeline.interference import most_delayed_stream, streams_are_joined
from tailwave.recordings.timeline.losses import FLOOR_NS, communication, of_kind

# Matrix products and convolutions of the vendor's libraries, which size their persistent kernels
# to the SMs that they find.
_PERSISTENT = re.compile(r"nvjet|cutlass|cublas|xmma|^(void )?cudnn", re.IGNORECASE)
# Elementwise kernels that are several already: made by a compiler, or over many tensors at once.
_FUSED = re.compile(r"fused|fusion|multi_tensor", re.IGNORECASE)
_OPTIMISER = "Optimizer.step"
# SMs that a partition is cut in on compute capability 9.0 and later.
_PARTITION_UNIT = 8


def grid(case: Case, program: Program) -> Changed:
    """Make every wave whole: kernels lose their tails."""
    return Changed(_shortened(case, program, case.losses.tail))


def spread(case: Case, program: Program) -> Changed:
    """Spread small grids over every SM: the most that splitting their work can bring."""
    return Changed(_shortened(case, program, case.losses.small))


def whole_warps(case: Case, program: Program) -> Changed:
    """Put the threads of part-filled warps into whole ones: kernels lose their idle lanes."""
    return Changed(_shortened(case, program, case.losses.lanes))


def _shortened(case: Case, program: Program, lost: Floats) -> Program:
    """Take off rows what they lost (ns) while recorded, in proportion where a row has changed."""
    gpu, rows = case.timeline.gpu, program.row
    recorded = np.maximum(gpu.end[rows] - gpu.start[rows], 1)
    now_lost = lost[rows] * (program.duration / recorded)
    return msgspec.structs.replace(program, duration=program.duration - now_lost.astype(np.int64))


def sm_count(count: int) -> Change:
    """Run on a chip, or a partition, of ``count`` SMs that is otherwise the same."""

    def change(case: Case, program: Program) -> Changed:
        factor, notes = sm_factors(case, program, count)
        duration = (program.duration * factor).astype(np.int64)
        return Changed(msgspec.structs.replace(program, duration=duration), notes)

    return change


def sm_factors(case: Case, program: Program, count: int) -> tuple[Floats, tuple[str, ...]]:
    """How much longer each GPU row takes on ``count`` SMs, and how many are of which regime."""
    have = case.device.sm_count
    if not have:
        return np.ones(len(program.row)), ("the recording does not say how many SMs the GPU has",)
    gpu, rows = case.timeline.gpu, program.row
    sizing = [bool(_PERSISTENT.search(name)) for name in case.timeline.names]
    working = (gpu.kind == GpuKind.KERNEL) & (gpu.grid > 0) & ~communication(case.timeline)
    scaled = scaling(
        grid=np.where(working, gpu.grid, np.nan)[rows],
        ctas_per_sm=case.residency.ctas_per_sm[rows],
        persistent=np.array(sizing, dtype=np.uint8)[gpu.name[rows]],
        have=have,
        count=count,
    )
    kernels = int((gpu.kind[rows] == GpuKind.KERNEL).sum())
    waves, persistent = scaled.count(Regime.WAVES), scaled.count(Regime.PERSISTENT)
    note = (
        f"kernels: {waves} by waves, {persistent} persistent, "
        f"{kernels - waves - persistent} unaffected"
    )
    return scaled.factor, (note,)


def isolated(case: Case, program: Program) -> Changed:
    """Give the most delayed stream SMs of its own; the other streams pay with theirs.

    The partition is as large as the stream's widest kernels, but a quarter of the chip at most.
    Steps then end with the isolated stream's work: what the others still run is their affair.
    """
    rows = np.flatnonzero(case.gpu_rows)
    if streams_are_joined(case.timeline, case.steps):
        return Changed(program, ("the host joins the streams: they depend on each other",))
    stream = most_delayed_stream(case.timeline, case.interference, rows)
    have = case.device.sm_count
    if stream < 0 or not have:
        return Changed(program, ("no stream is held up by another",))
    mine = case.timeline.gpu.stream[program.row] == stream
    share = partition_size(case, rows[case.timeline.gpu.stream[rows] == stream])
    own, _ = sm_factors(case, program, share)
    others, _ = sm_factors(case, program, have - share)
    stretched = case.interference.stretched[program.row].astype(np.int64)
    duration = np.where(
        mine, (program.duration - stretched) * own, program.duration * others
    ).astype(np.int64)
    held = mine & (program.dep_kind == Dependency.HOLDER)
    return Changed(
        msgspec.structs.replace(
            program,
            duration=duration,
            dep=np.where(held, -1, program.dep),
            dep_kind=np.where(held, Dependency.NONE, program.dep_kind).astype(np.uint8),
            counts=mine,
        ),
        (f"{share} SMs for stream {stream}, {have - share} for the others, whose kernels pay",),
    )


def partition_size(case: Case, rows: Ints) -> int:
    """SMs that hold a stream's widest kernel at once, in whole units, at most a quarter of all."""
    have = case.device.sm_count
    fits = case.residency.ctas_per_sm[rows]
    need = case.timeline.gpu.grid[rows] / np.where(np.isfinite(fits), fits, 1.0)
    widest = int(np.ceil(need.max(initial=1.0)))
    most = have // 4 // _PARTITION_UNIT * _PARTITION_UNIT
    units = -(-widest // _PARTITION_UNIT) * _PARTITION_UNIT
    return max(_PARTITION_UNIT, min(units, most))


def fuse(case: Case, program: Program) -> Changed:
    """Fuse each run of elementwise kernels of a stream into one, as long as the longest of them.

    Assumes that a run works on the same data, so that the fused kernel reads and writes it once.
    """
    gpu, names = case.timeline.gpu, case.timeline.names
    apart = np.array([not _FUSED.search(name) for name in names], dtype=bool)[gpu.name]
    elementwise = of_kind(case.timeline, KernelKind.ELEMENTWISE) & (gpu.kind == GpuKind.KERNEL)
    alike = np.zeros(len(program.row), dtype=np.int64)
    return _merge_runs(program, (apart & elementwise)[program.row], alike)


def merge_small_grids(case: Case, program: Program) -> Changed:
    """Batch neighbouring launches of one kernel with small grids into one launch.

    Assumes that they do not depend on each other, as the branches or heads of a model do; the
    recording cannot tell.
    """
    gpu, rows = case.timeline.gpu, program.row
    small = case.losses.small[rows] > 0
    same = np.unique(
        np.column_stack([gpu.name[rows], gpu.grid[rows], gpu.block[rows]]),
        axis=0,
        return_inverse=True,
    )[1].ravel()
    return _merge_runs(program, small, same)


def _merge_runs(program: Program, wanted: Flags, kind: Ints) -> Changed:
    """Merge neighbours of a stream and step that are wanted and of one kind into the first."""
    order = np.lexsort((np.arange(len(wanted)), program.stream))
    follows = np.zeros(len(order), dtype=bool)
    here, before = order[1:], order[:-1]
    follows[1:] = (
        wanted[here]
        & wanted[before]
        & (program.stream[here] == program.stream[before])
        & (program.row_step[here] == program.row_step[before])
        & (kind[here] == kind[before])
        & (program.issue[here] < 0)
    )
    head = np.maximum.accumulate(np.where(~follows, np.arange(len(order)), 0))
    longest = program.duration.copy()
    np.maximum.at(longest, order[head], program.duration[order])
    keep = np.ones(len(order), dtype=bool)
    keep[order[follows]] = False
    merged = msgspec.structs.replace(program, duration=longest).keep_rows(keep)
    fewer = int((~keep).sum())
    if not fewer:
        return Changed(program)
    note = f"launches fewer: {a_step(fewer, program)}"
    return Changed(drop_idle_issuers(merged, issues(program)), (note,))


def fused_optimizer(case: Case, program: Program) -> Changed:
    """Update all parameters in one pass: one kernel instead of one for each operation.

    The recorded optimiser makes one pass over its state for each kind of kernel that it launches;
    the fused one makes a single pass, as long as their mean.
    """
    host, names = case.timeline.host, case.timeline.names
    is_step = np.array([name.startswith(_OPTIMISER) for name in names], dtype=bool)
    spans = np.flatnonzero(
        np.isin(host.kind, (HostKind.ANNOTATION, HostKind.OPERATOR)) & is_step[host.name]
    )
    by = issuer(program)
    call = np.where(by >= 0, program.host_row[by], -1)
    moment = np.full(len(call), -1, dtype=np.int64)
    moment[call >= 0] = host.start[call[call >= 0]]
    keep = np.ones(len(program.row), dtype=bool)
    duration = program.duration.copy()
    for span in spans:
        mine = np.flatnonzero((moment >= host.start[span]) & (moment < host.end[span]))
        passes = len(np.unique(case.timeline.gpu.name[program.row[mine]]))
        if len(mine) <= passes or passes < 2:  # noqa: PLR2004 - a single pass is fused already
            continue
        keep[mine[1:]] = False
        duration[mine[0]] = max(int(program.duration[mine].sum()) // passes, FLOOR_NS)
    if keep.all():
        return Changed(program, ("no optimiser step that launches kernel by kernel",))
    merged = msgspec.structs.replace(program, duration=duration).keep_rows(keep)
    return Changed(drop_idle_issuers(merged, issues(program)))
