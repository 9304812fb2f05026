"""What kernels lose by their grids and CTAs: part-filled last waves, SMs without a CTA, idle lanes.

All are upper bounds on what mending the shape can bring, since a kernel never gets faster than
an empty one. Only the time in which a kernel has the GPU to itself counts, for SMs that one
kernel leaves idle may be another's.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.kernel_kinds import KernelKind, kind_of
from tailwave.model import DeviceInfo, Flags, Floats, GpuKind, Ints, SmallInts, Timeline
from tailwave.recordings.timeline.residency import Residency

# A kernel that does next to nothing is recorded as 1 to 2 us (H200, A100): no grid makes a
# kernel faster than that (ns).
FLOOR_NS = 2_000
# No chip runs more CTAs at once (MI300X: 304 compute units of 40 wavefronts).
_MOST_AT_ONCE = 1 << 14


class GridLosses(msgspec.Struct, frozen=True):
    """Time (ns, per GPU row) that a kernel's shape loses; 0 where nothing is known.

    ``tail`` is lost in part-filled last waves, ``small`` by SMs without a CTA, ``lanes`` by lanes
    of part-filled warps.
    """

    tail: Floats
    small: Floats
    lanes: Floats


def grid_losses(timeline: Timeline, fits: Residency, device: DeviceInfo) -> GridLosses:
    """Compute the losses of every kernel of one device.

    The tail loses ``1 - waves / ceil(waves)`` of a kernel's time; a grid of fewer CTAs than SMs
    loses ``1 - grid / SMs``; lanes lose ``1 - w / W``, where W warps run and w whole ones would
    hold their threads, but no more than leaves one wave.
    """
    gpu, sm_count = timeline.gpu, device.sm_count
    kernels = np.flatnonzero(
        (gpu.kind == GpuKind.KERNEL) & (gpu.device == device.index) & ~communication(timeline)
    )
    tail, small, lanes = np.zeros(len(gpu)), np.zeros(len(gpu)), np.zeros(len(gpu))
    if len(kernels) == 0:
        return GridLosses(tail, small, lanes)
    duration = (gpu.end - gpu.start)[kernels]
    free = exclusive(timeline, device.index)[kernels]
    alone = np.minimum(free, np.maximum(duration - FLOOR_NS, 0))
    grid, waves = gpu.grid[kernels], fits.waves[kernels]
    whole = np.ceil(np.maximum(np.nan_to_num(waves, nan=1.0), 1e-9))
    tail[kernels] = np.where(waves > 1.0, alone * (1.0 - waves / whole), 0.0)
    few = (grid > 0) & (grid < sm_count)
    small[kernels] = np.where(few, alone * (1.0 - grid / max(sm_count, 1)), 0.0)
    lanes[kernels] = alone * _idle_lanes(grid, gpu.block[kernels], waves, device.warp_size)
    return GridLosses(tail, small, lanes)


def _idle_lanes(grid: Ints, block: SmallInts, waves: Floats, warp: int) -> Floats:
    """Share of a kernel's time that fewer but whole warps would spare, 0 where that is unknown."""
    threads, warps = grid * block, grid * -(-block // warp)
    known = (grid > 0) & (block > 0)
    need = np.where(known, -(-threads // warp) / np.maximum(warps, 1), 1.0)
    # Warps that all run at once do not end sooner when they are fewer.
    waves = np.where(np.isnan(waves), grid / _MOST_AT_ONCE, waves)
    return 1.0 - np.maximum(need, 1.0 / np.maximum(waves, 1.0))


def communication(timeline: Timeline) -> Flags:
    """Tell which GPU rows are kernels of a collective library.

    Their grids are small on purpose, and their time is spent waiting for other GPUs.
    """
    kernels = timeline.gpu.kind == GpuKind.KERNEL
    return np.asarray(kernels & of_kind(timeline, KernelKind.COLLECTIVE), dtype=bool)


def of_kind(timeline: Timeline, kind: KernelKind) -> Flags:
    """Tell which GPU rows compute something of a kind."""
    codes, rows = np.unique(timeline.gpu.name, return_inverse=True)
    found = [kind_of(timeline.names[code]) is kind for code in codes]
    return np.array(found, dtype=bool)[rows]


def exclusive(timeline: Timeline, device: int) -> Ints:
    """Time (ns, per GPU row) in which a row ran with nothing else on its device."""
    gpu = timeline.gpu
    result = np.zeros(len(gpu), dtype=np.int64)
    rows = np.flatnonzero(gpu.device == device)
    moment = np.concatenate([gpu.start[rows], gpu.end[rows]])
    change = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
    order = np.argsort(moment, kind="stable")
    moment = moment[order]
    active = np.cumsum(change[order])[:-1]
    single = np.concatenate([[0], np.cumsum(np.where(active == 1, np.diff(moment), 0))])
    at_start = single[np.searchsorted(moment, gpu.start[rows])]
    at_end = single[np.searchsorted(moment, gpu.end[rows])]
    result[rows] = at_end - at_start
    return result
