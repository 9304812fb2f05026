"""Recordings written by hand: what the host and the GPU did, in microseconds, as a story.

Every event is given as ``begin, end``. Host events go to the thread named last::

    Trace()
    .step(0, 100)
    .op("aten::mm", 0, 20)
    .launch(10, 15, kernel("gemm", 18, 30))
    .build()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import msgspec
import numpy as np

from tailwave.model import (
    DeviceInfo,
    GpuKind,
    GpuTable,
    HostKind,
    HostTable,
    Thread,
    Timeline,
    WaitTable,
)

PAGEABLE_HTOD = "Memcpy HtoD (Pageable -> Device)"
PINNED_HTOD = "Memcpy HtoD (Pinned -> Device)"
PAGEABLE_DTOH = "Memcpy DtoH (Device -> Pageable)"
PINNED_DTOH = "Memcpy DtoH (Device -> Pinned)"
DTOD = "Memcpy DtoD (Device -> Device)"

# As the recorder of PyTorch 2.9 describes it.
H200 = DeviceInfo(
    index=0,
    name="NVIDIA H200",
    sm_count=132,
    compute_major=9,
    compute_minor=0,
    max_threads_per_sm=2048,
    registers_per_sm=65536,
    shared_per_sm=233472,
    shared_per_block_optin=232448,
)


class Work(msgspec.Struct, frozen=True):
    """One kernel, copy or memset as it ran on the GPU (us); -1 for what is unknown."""

    name: str
    begin: float
    end: float
    kind: GpuKind = GpuKind.KERNEL
    device: int = 0
    stream: int = 7
    grid: int = -1
    block: int = -1
    registers: int = -1
    shared: int = -1
    size: int = -1


class _Event(msgspec.Struct, frozen=True):
    name: str
    begin: int
    end: int
    kind: HostKind
    thread: Thread
    correlation: int


def kernel(  # noqa: PLR0913 - the fields of a kernel, each given by its name
    name: str,
    begin: float,
    end: float,
    *,
    stream: int = 7,
    device: int = 0,
    grid: int = -1,
    block: int = 256,
    registers: int = 32,
    shared: int = 0,
) -> Work:
    """Describe a kernel; its grid is unknown unless given, so that nothing is lost in waves."""
    return Work(
        name,
        begin,
        end,
        stream=stream,
        device=device,
        grid=grid,
        block=block,
        registers=registers,
        shared=shared,
    )


def copy(  # noqa: PLR0913 - the fields of a copy, each given by its name
    name: str, begin: float, end: float, *, stream: int = 7, device: int = 0, size: int = -1
) -> Work:
    """Describe a copy; the name says from where to where."""
    return Work(name, begin, end, GpuKind.MEMCPY, stream=stream, device=device, size=size)


def memset(begin: float, end: float, *, stream: int = 7) -> Work:
    """Describe a memset."""
    return Work("Memset (Device)", begin, end, GpuKind.MEMSET, stream=stream)


class Trace:
    """Collects events; ``build`` turns them into a Timeline."""

    def __init__(
        self,
        *,
        devices: tuple[DeviceInfo, ...] = (H200,),
        rank: int = 0,
        recorded: tuple[float, float] = (0, 0),
    ) -> None:
        """Begin an empty recording of the given GPUs; ``recorded`` is the recorder's window."""
        self._devices = devices
        self._rank = rank
        self._recorded = recorded
        self._thread = Thread(pid="1", tid="main")
        self._origin = self._gpu_origin = 0.0
        self._events: list[_Event] = []
        self._work: list[tuple[Work, float, int]] = []
        self._launches = 0

    def thread(self, tid: str, pid: str = "1") -> Self:
        """Put the host events that follow on this thread."""
        self._thread = Thread(pid=pid, tid=tid)
        return self

    def at(self, origin: float, gpu: float | None = None) -> Self:
        """Count the times that follow from this moment; those of the GPU from another, if given."""
        self._origin = origin
        self._gpu_origin = origin if gpu is None else gpu
        return self

    def op(self, name: str, begin: float, end: float) -> Self:
        """Add a framework operator."""
        return self._host(name, begin, end, HostKind.OPERATOR)

    def annotation(self, name: str, begin: float, end: float) -> Self:
        """Add an annotation (record_function, NVTX)."""
        return self._host(name, begin, end, HostKind.ANNOTATION)

    def step(self, begin: float, end: float, number: int = 0) -> Self:
        """Add a step as PyTorch's profiler marks it."""
        return self.annotation(f"ProfilerStep#{number}", begin, end)

    def frame(self, name: str, begin: float, end: float) -> Self:
        """Add a Python frame."""
        return self._host(name, begin, end, HostKind.PYTHON)

    def call(self, name: str, begin: float, end: float) -> Self:
        """Add a runtime call that launches nothing."""
        return self._host(name, begin, end, HostKind.RUNTIME)

    def launch(self, begin: float, end: float, *work: Work, call: str = "cudaLaunchKernel") -> Self:
        """Add a runtime call and what it made the GPU do; nothing, if the recorder lost that."""
        self._launches += 1
        self._work += [(item, self._gpu_origin, self._launches) for item in work]
        return self._host(call, begin, end, HostKind.RUNTIME, self._launches)

    def unlaunched(self, *work: Work) -> Self:
        """Add GPU work whose launch is not in the recording."""
        self._work += [(item, self._gpu_origin, -1) for item in work]
        return self

    def build(self) -> Timeline:
        """Sort everything into the columns of a Timeline."""
        events = sorted(self._events, key=lambda event: (event.begin, -event.end))
        work = sorted(self._work, key=lambda item: item[1] + item[0].begin)
        used = [event.name for event in events] + [item.name for item, _, _ in work]
        names = tuple(dict.fromkeys(used))
        threads = tuple(dict.fromkeys(event.thread for event in events))
        recorded_from, recorded_to = (_ns(us) for us in self._recorded)
        return Timeline(
            names=names,
            threads=threads,
            devices=self._devices,
            host=_host_table(events, names, threads),
            gpu=_gpu_table(work, events, names),
            waits=_no_waits(),
            kind="kineto",
            path="by hand",
            rank=self._rank,
            events=len(events) + len(work),
            recorded_from=recorded_from,
            recorded_to=recorded_to,
        )

    def _host(
        self, name: str, begin: float, end: float, kind: HostKind, correlation: int = -1
    ) -> Self:
        low, high = _ns(self._origin + begin), _ns(self._origin + end)
        self._events.append(_Event(name, low, high, kind, self._thread, correlation))
        return self


def steps(
    count: int,
    length: float,
    body: Callable[[Trace], object],
    trace: Trace | None = None,
    *,
    gpu: float | None = None,
) -> Timeline:
    """Repeat a body as so many steps of the same length, times within each from its own start.

    They go on with ``trace``, if given. With ``gpu``, a step takes so long on the GPU, and the
    host runs ahead of it.
    """
    trace = trace or Trace()
    for number in range(count):
        ahead = number * (length if gpu is None else gpu)
        body(trace.at(number * length, ahead).step(0, length, number))
    return trace.build()


def _ns(us: float) -> int:
    return round(us * 1000)


def _host_table(
    events: list[_Event], names: tuple[str, ...], threads: tuple[Thread, ...]
) -> HostTable:
    code_of = {name: code for code, name in enumerate(names)}
    thread_of = {thread: number for number, thread in enumerate(threads)}
    return HostTable(
        start=np.array([event.begin for event in events], dtype=np.int64),
        end=np.array([event.end for event in events], dtype=np.int64),
        name=np.array([code_of[event.name] for event in events], dtype=np.int32),
        kind=np.array([event.kind for event in events], dtype=np.uint8),
        thread=np.array([thread_of[event.thread] for event in events], dtype=np.int32),
        correlation=np.array([event.correlation for event in events], dtype=np.int64),
    )


def _gpu_table(
    work: list[tuple[Work, float, int]], events: list[_Event], names: tuple[str, ...]
) -> GpuTable:
    row_of = {event.correlation: row for row, event in enumerate(events)} | {-1: -1}
    code_of = {name: code for code, name in enumerate(names)}
    items = [item for item, _, _ in work]
    return GpuTable(
        start=np.array([_ns(origin + item.begin) for item, origin, _ in work], dtype=np.int64),
        end=np.array([_ns(origin + item.end) for item, origin, _ in work], dtype=np.int64),
        name=np.array([code_of[item.name] for item in items], dtype=np.int32),
        kind=np.array([item.kind for item in items], dtype=np.uint8),
        device=np.array([item.device for item in items], dtype=np.int32),
        stream=np.array([item.stream for item in items], dtype=np.int64),
        correlation=np.array([number for _, _, number in work], dtype=np.int64),
        launch=np.array([row_of[number] for _, _, number in work], dtype=np.int64),
        grid=np.array([item.grid for item in items], dtype=np.int64),
        block=np.array([item.block for item in items], dtype=np.int32),
        registers=np.array([item.registers for item in items], dtype=np.int32),
        shared=np.array([item.shared for item in items], dtype=np.int64),
        bytes=np.array([item.size for item in items], dtype=np.int64),
        graph_node=np.full(len(work), -1, dtype=np.int64),
    )


def _no_waits() -> WaitTable:
    none = np.zeros(0, dtype=np.int64)
    few = np.zeros(0, dtype=np.int32)
    return WaitTable(none, none, few, few, none, none, none, none)
