"""What the runtime calls of CUDA and HIP do to the host: wait, copy, allocate, launch."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

import numpy as np

from tailwave.model import Bytes


class Call(enum.IntEnum):
    """The effect of one runtime call on the thread that makes it."""

    OTHER = 0
    LAUNCH = 1  # enqueues a kernel or a graph
    COPY = 2  # enqueues a copy, a memset or a prefetch of pages; may hold the host
    WAIT = 3  # holds the host until the GPU has done something
    ALLOCATE = 4  # takes or frees memory; may hold the host and the GPU
    STREAM_WAIT = 5  # makes a stream wait for an event; the host goes on
    RECORD = 6  # records an event
    LOAD = 7  # loads code for the GPU


# CUDA runtime (cudaX), driver (cuX) and HIP (hipX) spell the same call in the same way but for
# the prefix and suffixes such as _v2, _ptsz, ExC, WithFlags.
_PATTERNS: tuple[tuple[Call, str], ...] = (
    (Call.WAIT, r"(Device|Stream|Event|Ctx|Context|Thread)Synchronize"),
    (Call.STREAM_WAIT, r"StreamWait(Event|Value)"),
    (Call.RECORD, r"EventRecord"),
    (Call.LOAD, r"((Library)?Load|Link(Create|Add|Complete))"),
    (Call.LAUNCH, r"(Launch(?!HostFunc)|GraphLaunch)"),
    (Call.COPY, r"(Memcpy|Memset|MemPrefetch)"),
    (
        Call.ALLOCATE,
        r"(Malloc|Free|(Mem)?Host(Alloc|Free|Register|Unregister)|Mem(Alloc|Free))(?!.*Async)",
    ),
)
_PREFETCH = re.compile(r"^(cuda|cu|hip)MemPrefetch")
_DEVICE_WAIT = re.compile(r"^(cuda|cu|hip)(Device|Ctx|Context|Thread)Synchronize")
_GRAPH_LAUNCH = re.compile(r"^(cuda|cu|hip)GraphLaunch")
# Pages of managed memory; why they moved stands after a comma, unless they were touched.
_MIGRATION = re.compile(r"(?:Memcpy \w+|GPU page faults) \(managed(?:, (\w+))?\)$")
_PREFETCH = re.compile(r"^(cuda|cu|hip)MemPrefetch")
_SYNCHRONOUS_COPY = re.compile(r"^(cuda|cu|hip)Memcpy(?!.*(Async|Peer))")
_COMPILED = (
    *((call, re.compile(rf"^(cuda|cu|hip)(Ext)?(Module)?{body}")) for call, body in _PATTERNS),
    # JAX waits without a call of the driver; its reader names what it waits in.
    (Call.WAIT, re.compile(r"^(block_until_ready|np\.asarray\(jax\.Array\))$")),
)


def classify(name: str) -> Call:
    """Return what the runtime call of this name does to its thread."""
    for call, pattern in _COMPILED:
        if pattern.match(name):
            return call
    return Call.OTHER


def classify_all(names: Sequence[str]) -> Bytes:
    """Classify every name; the result is indexed by name code."""
    return np.array([classify(name) for name in names], dtype=np.uint8)


def is_device_wait(name: str) -> bool:
    """Tell whether a call waits for all streams of the device."""
    return _DEVICE_WAIT.match(name) is not None


def is_graph_launch(name: str) -> bool:
    """Tell whether a call launches a whole graph."""
    return _GRAPH_LAUNCH.match(name) is not None


def is_synchronous_copy(name: str) -> bool:
    """Tell whether a copy call returns only when the copy is done (hipMemcpyWithStream does)."""
    return _SYNCHRONOUS_COPY.match(name) is not None


def is_prefetch(name: str) -> bool:
    """Tell whether a call moves pages of managed memory, for which it holds the host."""
    return _PREFETCH.match(name) is not None


# A copy of at least this many bytes takes its time for the bytes; a smaller one fetches a value,
# and what it costs is the wait.
SIZEABLE_COPY = 1 << 20


def is_pageable(name: str) -> bool:
    """Tell whether a copy's name says that one side is pageable host memory."""
    return "pageable" in name.lower()


def is_migration(name: str) -> bool:
    """Tell whether a copy's name says that pages of managed memory moved, or faulted."""
    return why_moved(name) != ""


def why_moved(name: str) -> str:
    """Return why pages moved: "touched", "prefetched", "evicted"; "" for copies of other memory."""
    match = _MIGRATION.match(name)
    return (match[1] or "touched") if match else ""


def crosses_link(name: str) -> bool:
    """Tell whether a copy's name says that it goes over the link between host and GPU."""
    return direction(name) in ("HtoD", "DtoH")


def direction(name: str) -> str:
    """Return "HtoD", "DtoH", "DtoD" or "" from a copy's name."""
    match = re.search(r"(HtoD|DtoH|DtoD|PtoP|HtoH|HostToDevice|DeviceToHost|DeviceToDevice)", name)
    if match is None:
        return ""
    spelled = match.group(1)
    return {"HostToDevice": "HtoD", "DeviceToHost": "DtoH", "DeviceToDevice": "DtoD"}.get(
        spelled, spelled
    )
