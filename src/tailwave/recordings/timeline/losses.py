"""What kernels lose by the shape of their grids: part-filled last waves, SMs without a CTA.

Both are upper bounds on what mending the grid can bring, since a kernel never gets faster than
an empty one. Only the time in which a kernel has the GPU to itself counts, for SMs that one
kernel leaves idle may be another's.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Flags, Floats, GpuKind, Ints, Timeline
from tailwave.recordings.timeline.residency import Residency

# A kernel that does next to nothing is recorded as 1 to 2 us (H200, A100): no grid makes a
# kernel faster than that (ns).
FLOOR_NS = 2_000
_COLLECTIVE = ("nccl", "rccl", "mscclkernel", "nvshmem")


class GridLosses(msgspec.Struct, frozen=True):
    """Time (ns, per GPU row) that a kernel's grid loses; 0 where nothing is known."""

    tail: Floats
    small: Floats


def grid_losses(timeline: Timeline, fits: Residency, device: int, sm_count: int) -> GridLosses:
    """Compute the losses of every kernel of one device.

    The tail loses ``1 - waves / ceil(waves)`` of a kernel's time; a grid of fewer CTAs than SMs
    loses ``1 - grid / SMs``.
    """
    gpu = timeline.gpu
    kernels = np.flatnonzero(
        (gpu.kind == GpuKind.KERNEL) & (gpu.device == device) & ~communication(timeline)
    )
    tail, small = np.zeros(len(gpu)), np.zeros(len(gpu))
    if len(kernels) == 0 or not sm_count:
        return GridLosses(tail, small)
    duration = (gpu.end - gpu.start)[kernels]
    alone = np.minimum(exclusive(timeline, device)[kernels], np.maximum(duration - FLOOR_NS, 0))
    waves = np.nan_to_num(fits.waves[kernels], nan=1.0)
    whole = np.ceil(np.maximum(waves, 1e-9))
    tail[kernels] = np.where(waves > 1.0, alone * (1.0 - waves / whole), 0.0)
    grid = gpu.grid[kernels]
    few = (grid > 0) & (grid < sm_count)
    small[kernels] = np.where(few, alone * (1.0 - grid / sm_count), 0.0)
    return GridLosses(tail, small)


def communication(timeline: Timeline) -> Flags:
    """Tell which GPU rows are kernels of a collective library.

    Their grids are small on purpose, and their time is spent waiting for other GPUs.
    """
    names = np.array(
        [name.lower().removeprefix("void ").startswith(_COLLECTIVE) for name in timeline.names],
        dtype=bool,
    )
    gpu = timeline.gpu
    return np.asarray((gpu.kind == GpuKind.KERNEL) & names[gpu.name], dtype=bool)


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
