"""A recording of another recorder, written as the export that nsys would have made of it.

nsys records no operators and no Python frames, so these are left out unless ``emit_nvtx`` would
have marked them; calls, annotations (as NVTX ranges), GPU rows, correlations, streams and the GPU's
description are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tailwave.model import DeviceInfo, GpuKind, HostKind, Timeline
from tests.recordings.readers.nsys.export import (
    KERNEL,
    MEMCPY,
    MEMSET,
    RUNTIME,
    Row,
    Tables,
    thread,
    write,
)

PROCESS = 4_321
_MEMORY = {"Pageable": 0, "Pinned": 1, "Device": 2, "Array": 3, "Managed": 4, "Unknown": 7}
_DIRECTIONS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
_COPY = re.compile(r"Memcpy (\w+) \((.+) -> (.+)\)")


def convert(timeline: Timeline, path: Path, *, operators: bool = False) -> Path:
    """Write a timeline as an export; with ``operators`` as under ``emit_nvtx``."""
    names: dict[str, int] = {}

    def named(name: str) -> int:
        return names.setdefault(name, len(names) + 1)

    zero = int(min(timeline.host.start.min(), timeline.gpu.start.min())) - 1
    tables: Tables = {
        RUNTIME: [],
        "NVTX_EVENTS": [],
        KERNEL: [],
        MEMCPY: [],
        MEMSET: [],
        **_gpus(timeline.devices),
    }
    for table, row in _host(timeline, zero, operators=operators):
        tables[table].append(row)
    for row in tables[RUNTIME]:
        # As nsys spells it, with the version of CUDA that the call came with.
        row["nameId"] = named(f"{row.pop('name')}_v7000")
    for table, row in _gpu(timeline, zero):
        tables[table].append(row)
    for row in tables[KERNEL]:
        row["demangledName"] = row["shortName"] = named(str(row.pop("name")))
    tables["StringIds"] = [{"id": number, "value": name} for name, number in names.items()]
    return write(path, tables)


def _host(timeline: Timeline, zero: int, *, operators: bool) -> Iterator[tuple[str, Row]]:
    host = timeline.host
    columns = (host.start, host.end, host.name, host.kind, host.thread, host.correlation)
    for number, (start, end, name, kind, on, correlation) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        row: Row = {
            "start": start - zero,
            "end": end - zero,
            "globalTid": thread(PROCESS, on + 1),
        }
        text = timeline.names[name]
        if kind == HostKind.RUNTIME:
            linked = correlation if correlation >= 0 else None
            yield RUNTIME, row | {"correlationId": linked, "name": text}
        elif kind == HostKind.ANNOTATION or (operators and kind == HostKind.OPERATOR):
            suffix = f", op_id = {number}" if kind == HostKind.OPERATOR else ""
            yield (
                "NVTX_EVENTS",
                row | {"eventType": 59, "text": text + suffix, "textId": None, "domainId": 0},
            )


def _gpu(timeline: Timeline, zero: int) -> Iterator[tuple[str, Row]]:
    gpu = timeline.gpu
    for i in range(len(gpu)):
        row: Row = {
            "start": int(gpu.start[i]) - zero,
            "end": int(gpu.end[i]) - zero,
            "deviceId": int(gpu.device[i]),
            "streamId": int(gpu.stream[i]),
            "correlationId": int(gpu.correlation[i]),
            "globalPid": thread(PROCESS, 0),
            "graphNodeId": int(gpu.graph_node[i]) if gpu.graph_node[i] >= 0 else None,
        }
        name, size = timeline.names[gpu.name[i]], int(gpu.bytes[i])
        if gpu.kind[i] == GpuKind.KERNEL:
            yield KERNEL, row | _shape(timeline, i) | {"name": name}
        elif gpu.kind[i] == GpuKind.MEMSET:
            yield MEMSET, row | {"bytes": size, "memKind": 2}
        elif found := _COPY.match(name):
            direction, source, target = found.groups()
            yield (
                MEMCPY,
                row
                | {
                    "bytes": size,
                    "copyKind": _DIRECTIONS[direction],
                    "srcKind": _MEMORY[source],
                    "dstKind": _MEMORY[target],
                },
            )


def _shape(timeline: Timeline, i: int) -> Row:
    gpu = timeline.gpu
    return {
        "gridX": int(gpu.grid[i]),
        "gridY": 1,
        "gridZ": 1,
        "blockX": int(gpu.block[i]),
        "blockY": 1,
        "blockZ": 1,
        "registersPerThread": int(gpu.registers[i]),
        "staticSharedMemory": int(gpu.shared[i]),
        "dynamicSharedMemory": 0,
    }


def _gpus(devices: tuple[DeviceInfo, ...]) -> Tables:
    return {
        "TARGET_INFO_GPU": [
            {
                "id": device.index + 10,
                "name": device.name,
                "smCount": device.sm_count,
                "computeMajor": device.compute_major,
                "computeMinor": device.compute_minor,
                "threadsPerWarp": device.warp_size,
                "maxWarpsPerSm": device.max_threads_per_sm // device.warp_size,
                "maxRegistersPerSm": device.registers_per_sm,
                "maxShmemPerSm": device.shared_per_sm,
                "maxShmemPerBlockOptin": device.shared_per_block_optin,
            }
            for device in devices
        ],
        "TARGET_INFO_CUDA_DEVICE": [
            {
                "gpuId": device.index + 10,
                "cudaId": device.index,
                "pid": PROCESS,
                "numMultiprocessors": device.sm_count,
            }
            for device in devices
        ],
    }
