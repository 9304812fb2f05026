"""How fast the link between host and GPU copies pinned memory."""

from __future__ import annotations

import numpy as np

from tailwave.model import DeviceInfo, GpuKind, Timeline

# Bytes per microsecond that a x16 link of the chip's generation gives pinned copies: PCIe 3, 4, 5
# (measured on an H200: 55 GB/s; the others in proportion to the link's signalling rate).
_LINK_BY_MAJOR = {7: 13_000.0, 8: 26_000.0, 9: 55_000.0, 10: 55_000.0, 12: 55_000.0}
_LINK_DEFAULT = 13_000.0
# Smaller copies are dominated by latency and say nothing of the link's speed (bytes).
_LARGE = 1 << 20


def link_speed(timeline: Timeline, device: DeviceInfo) -> float:
    """Bytes per microsecond of the host link: the recording's fastest pinned copy, or typical."""
    gpu = timeline.gpu
    names = np.array(["pinned" in name.lower() for name in timeline.names], dtype=bool)
    rows = (gpu.kind == GpuKind.MEMCPY) & names[gpu.name] & (gpu.bytes >= _LARGE)
    rows &= (gpu.device == device.index) & (gpu.end > gpu.start)
    if rows.any():
        return float(np.max(gpu.bytes[rows] / ((gpu.end - gpu.start)[rows] / 1e3)))
    return typical_link(device)


def typical_link(device: DeviceInfo) -> float:
    """Bytes per microsecond that pinned copies reach on a chip of this generation."""
    return _LINK_BY_MAJOR.get(device.compute_major, _LINK_DEFAULT)
