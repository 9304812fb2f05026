"""The GPUs of an nsys export: what they are, and how full they were where nsys sampled that.

A metric's number means something only together with its type, which also names the GPU: samples
and names are joined on both.
"""

from __future__ import annotations

from typing import Final

from tailwave.model import DeviceInfo
from tailwave.recordings.readers.nsys.database import Database

_GPU: Final = (
    "id",
    "name",
    "smCount",
    "computeMajor",
    "computeMinor",
    "threadsPerWarp",
    "maxWarpsPerSm",
    "maxRegistersPerSm",
    "maxShmemPerSm",
    "maxShmemPerBlockOptin",
    "cuDevice",
)
# The same in exports from before the middle of 2021, by CUDA's own number.
_OLD_GPU: Final = (
    "deviceId",
    "name",
    "numMultiprocessors",
    "computeCapabilityMajor",
    "computeCapabilityMinor",
    "numThreadsPerWarp",
    "maxWarpsPerMultiprocessor",
    "maxRegistersPerMultiprocessor",
    "maxSharedMemoryPerMultiprocessor",
    "",
    "deviceId",
)
_NUMBERING: Final = ("gpuId", "cudaId", "pid", "numMultiprocessors")

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


def devices_of(database: Database, process: int) -> tuple[DeviceInfo, ...]:
    """Return the GPUs as a process numbers them; none where the export does not describe them."""
    listed = database.rows("TARGET_INFO_GPU", _GPU)
    listed = listed or database.rows("TARGET_INFO_CUDA_GPU", _OLD_GPU)
    gpus = {_number(row[0]): row for row in listed}
    numbering = database.rows("TARGET_INFO_CUDA_DEVICE", _NUMBERING)
    own = [row for row in numbering if _number(row[2]) == process] or numbering
    if own:
        found = {_number(row[1]): (gpus.get(_number(row[0])), _number(row[3])) for row in own}
        return tuple(_device(index, row, sms) for index, (row, sms) in sorted(found.items()))
    # Without a numbering of the process, the driver's own number is the best there is.
    driver = {_number(row[10]): row for row in listed if _number(row[10]) >= 0}
    return tuple(_device(index, row, 0) for index, row in sorted((driver or gpus).items()))


def _device(index: int, row: tuple[object, ...] | None, sms: int) -> DeviceInfo:
    if row is None:
        return DeviceInfo(index=index, sm_count=max(sms, 0))
    numbers = [max(_number(cell), 0) for cell in row]
    warp = numbers[5] or 32
    return DeviceInfo(
        index=index,
        name=row[1] if isinstance(row[1], str) else "",
        sm_count=numbers[2] or max(sms, 0),
        compute_major=numbers[3],
        compute_minor=numbers[4],
        warp_size=warp,
        max_threads_per_sm=numbers[6] * warp,
        registers_per_sm=numbers[7],
        shared_per_sm=numbers[8],
        shared_per_block_optin=numbers[9],
    )


def _number(cell: object) -> int:
    return cell if isinstance(cell, int) else -1


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
