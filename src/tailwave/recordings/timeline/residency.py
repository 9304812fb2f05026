"""How many CTAs of a kernel fit an SM at once, and how many waves its grid makes.

The recorder's own "blocks per SM" is the grid over the SM count, and its occupancy reads 0 for
kernels above 48 KB of shared memory, so residency is computed here from registers, shared
memory, threads and the chip's limits, as NVIDIA's occupancy calculator does (CUDA C++ Programming
Guide, "Compute Capabilities", technical specifications table).
"""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import DeviceInfo, Floats, GpuKind, Ints, Timeline

_REGISTERS_PER_WARP_UNIT = 256  # a warp's registers are granted in units of 256
_WARPS_PER_CTA_UNIT = 4  # a CTA's warps are spread over the SM's four schedulers
_SHARED_UNIT = 128  # bytes, compute capability 8.0 and later
_SHARED_UNIT_VOLTA = 256
_SHARED_RESERVED = 1024  # bytes that the system keeps per CTA, 8.0 and later
_AMPERE = 8


class Residency(msgspec.Struct, frozen=True):
    """Residency of every GPU row: NaN where it is not a kernel or something is unknown.

    ``ctas_per_sm`` is how many CTAs fit an SM, ``waves`` the grid over what fits the whole GPU.
    """

    ctas_per_sm: Floats
    waves: Floats


def max_ctas_per_sm(major: int, minor: int) -> int:
    """Return the chip's limit of CTAs per SM (same source as the module)."""
    limits = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (12, 0): 24, (12, 1): 24}
    return limits.get((major, minor), 32)


def ctas_per_sm(device: DeviceInfo, block: Ints, registers: Ints, shared: Ints) -> Floats:
    """Return how many CTAs fit one SM; NaN where a field is unknown (negative).

    ``block`` is threads per CTA, ``registers`` per thread, ``shared`` bytes per CTA.
    """
    if not (device.compute_major and device.max_threads_per_sm and device.registers_per_sm):
        return np.full(len(block), np.nan)
    warps = -(-block // device.warp_size)
    granted_warps = -(-warps // _WARPS_PER_CTA_UNIT) * _WARPS_PER_CTA_UNIT
    per_warp = -(-registers * device.warp_size // _REGISTERS_PER_WARP_UNIT)
    register_need = per_warp * _REGISTERS_PER_WARP_UNIT * granted_warps
    ampere = device.compute_major >= _AMPERE
    unit = _SHARED_UNIT if ampere else _SHARED_UNIT_VOLTA
    shared_need = -(-(shared + (_SHARED_RESERVED if ampere else 0)) // unit) * unit
    fits = np.minimum.reduce(
        [
            np.full(len(block), max_ctas_per_sm(device.compute_major, device.compute_minor)),
            device.max_threads_per_sm // device.warp_size // np.maximum(warps, 1),
            device.registers_per_sm // np.maximum(register_need, 1),
            device.shared_per_sm // np.maximum(shared_need, 1)
            if device.shared_per_sm
            else np.full(len(block), 32),
        ]
    ).astype(np.float64)
    known = (block > 0) & (registers >= 0) & (shared >= 0)
    # A CTA that ran did fit, whatever rounding of the limits says.
    return np.where(known, np.maximum(fits, 1.0), np.nan)


def residency(timeline: Timeline) -> Residency:
    """Compute the residency of every GPU row of a timeline."""
    gpu = timeline.gpu
    fits = np.full(len(gpu), np.nan)
    waves = np.full(len(gpu), np.nan)
    for device in timeline.devices:
        rows = np.flatnonzero((gpu.kind == GpuKind.KERNEL) & (gpu.device == device.index))
        if len(rows) == 0 or not device.sm_count:
            continue
        block, registers = gpu.block[rows].astype(np.int64), gpu.registers[rows].astype(np.int64)
        fits[rows] = ctas_per_sm(device, block, registers, gpu.shared[rows])
        grid = np.where(gpu.grid[rows] > 0, gpu.grid[rows], np.nan)
        waves[rows] = grid / (fits[rows] * device.sm_count)
    return Residency(fits, waves)
