"""The GPU metrics that nsys sampled (``--gpu-metrics-devices``), as their means.

A metric's number means something only together with its type, which also names the GPU: samples
and names are joined on both.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tailwave.readers.nsys.database import Database

_SAMPLES: Final = "GPU_METRICS"
_NAMES: Final = "TARGET_INFO_GPU_METRICS"
# The lowest byte of a type is the number of the GPU (documented by nsys's own examples).
_GPU_MASK: Final = 0xFF
# What the means are worth to a reader of a diagnosis; the rest stays in the export.
_WANTED: Final = ("SMs Active", "SM Issue", "Tensor Active", "DRAM Read", "DRAM Write")


def metric_notes(database: Database) -> tuple[str, ...]:
    """Say the mean of the metrics that tell how full each GPU was; nothing without samples."""
    got = database.columns(_SAMPLES, ("typeId", "metricId", "value"))
    names = {
        (row[0], row[1]): str(row[2])
        for row in database.rows(_NAMES, ("typeId", "metricId", "metricName"))
    }
    by_gpu: dict[int, list[str]] = {}
    for kind, metric in sorted(names, key=lambda key: names[key]):
        name = names[kind, metric]
        mine = (got["typeId"] == kind) & (got["metricId"] == metric)
        if name.startswith(_WANTED) and mine.any() and isinstance(kind, int):
            mean = float(np.mean(got["value"][mine]))
            by_gpu.setdefault(kind & _GPU_MASK, []).append(f"{_short(name)} {mean:.0f}%")
    return tuple(
        f"Sampled by nsys on GPU {gpu}, mean of the whole recording: {', '.join(figures)}."
        for gpu, figures in sorted(by_gpu.items())
    )


def _short(name: str) -> str:
    """Return a metric's name without its unit."""
    return name.partition(" [")[0]
