"""The GPU metrics that nsys sampled (``--gpu-metrics-devices``), as their means.

A metric's number means something only together with its type, which also names the GPU: samples
and names are joined on both.
"""

from __future__ import annotations

from typing import Final

from tailwave.recordings.readers.nsys.database import Database

_SAMPLES: Final = "GPU_METRICS"
_NAMES: Final = "TARGET_INFO_GPU_METRICS"
# The lowest byte of a type is the number of the GPU (documented by nsys's own examples).
_GPU_MASK: Final = 0xFF
# What the means are worth to a reader of a diagnosis; the rest stays in the export.
_WANTED: Final = (
    "SMs Active",
    "SM Active",
    "SM Issue",
    "Tensor Active",
    "DRAM Read",
    "DRAM Write",
)
# Units of which a mean in percent can be told.
_PERCENT: Final = ("", "Throughput %", "%")
_MEANS: Final = f'SELECT typeId, metricId, AVG(value) FROM "{_SAMPLES}" GROUP BY typeId, metricId'  # noqa: S608 - names of this file


def metric_notes(database: Database) -> tuple[str, ...]:
    """Say the mean of the metrics that tell how full each GPU was; nothing without samples."""
    means = {
        (row[0], row[1]): row[2]
        for row in database.asked(_SAMPLES, ("typeId", "metricId", "value"), _MEANS)
    }
    by_gpu: dict[int, list[str]] = {}
    named = database.rows(_NAMES, ("typeId", "metricId", "metricName"))
    for kind, metric, name in sorted(named, key=lambda row: str(row[2])):
        mean, (short, unit) = means.get((kind, metric)), _parts(str(name))
        if not isinstance(kind, int) or not isinstance(mean, float):
            continue
        if short.startswith(_WANTED) and unit in _PERCENT:
            by_gpu.setdefault(kind & _GPU_MASK, []).append(f"{short} {mean:.0f}%")
    return tuple(
        f"Sampled by nsys on GPU {gpu}, mean of the whole recording: {', '.join(figures)}."
        for gpu, figures in sorted(by_gpu.items())
    )


def _parts(name: str) -> tuple[str, str]:
    """Return a metric's name and its unit, which old exports lack."""
    short, _, unit = name.partition(" [")
    return short, unit.rstrip("]")
