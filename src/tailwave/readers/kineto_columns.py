"""Collects the events of a Kineto trace into columns, a block at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tailwave.model import Floats, GpuKind, HostKind, Ints
from tailwave.readers.kineto_events import Complete, Flow, FlowEnd, Metadata

# Categories, in lower case as all releases since 2021 spell them but for case.
_HOST = {
    "cpu_op": HostKind.OPERATOR,
    "operator": HostKind.OPERATOR,
    "python_function": HostKind.PYTHON,
    "user_annotation": HostKind.ANNOTATION,
}
_GPU = {
    "kernel": GpuKind.KERNEL,
    "gpu_memcpy": GpuKind.MEMCPY,
    "memcpy": GpuKind.MEMCPY,
    "gpu_memset": GpuKind.MEMSET,
    "memset": GpuKind.MEMSET,
}
_RUNTIME_ENDS = ("_runtime", "_driver")
# Kinds as one number: host kinds as they are, GPU kinds from 10 up.
_GPU_BASE, _WAIT, _SPAN, _OTHER = 10, 100, 101, -1
_LARGEST = np.iinfo(np.int64).max
# Longer events (us) are a recorder's garbage: eleven days.
_LONGEST_US = 1e12
# Microseconds up to which a double holds nanoseconds exactly: its 53 bits, less ten for 1/1000.
_EXACT_US = float(1 << 43)


class Codes(dict[Any, int]):
    """Numbers its keys in the order in which they are first looked up."""

    def __missing__(self, key: Any) -> int:  # noqa: ANN401 - names, pids and tids of any type
        self[key] = code = len(self)
        return code


class _Kinds(dict[str, int]):
    """Maps a category to its kind, deciding once for each spelling."""

    def __missing__(self, category: str) -> int:
        known = category.lower()
        kind = _OTHER
        if known in _HOST:
            kind = int(_HOST[known])
        elif known in _GPU:
            kind = _GPU_BASE + int(_GPU[known])
        elif known == "runtime" or known.endswith(_RUNTIME_ENDS):
            kind = int(HostKind.RUNTIME)
        elif known == "cuda_sync":
            kind = _WAIT
        elif known == "trace":
            kind = _SPAN
        self[category] = kind
        return kind


class Columns:
    """All that has been read of a trace; the lists hold one array a block."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.names = Codes()
        self.threads = Codes()
        self.thread_names: dict[tuple[str, str], str] = {}
        self.host: list[Ints] = []  # start, end, name, kind, thread, correlation
        self.gpu: list[Ints] = []  # start, end, name, kind, device, stream, ... (see _GPU_FIELDS)
        self.waits: list[Ints] = []
        self.spans: list[tuple[int, int]] = []
        self.places = Codes()  # where GPU events are shown, which is how arrows find them
        self.flow_starts: dict[Any, tuple[int, int]] = {}  # id -> thread, ns
        self.flow_ends: dict[tuple[int, int], Any] = {}  # place, ns -> id
        self.left_out: Counter[str] = Counter()
        self.events = 0
        self._kinds = _Kinds()

    def inexact(self, events: Sequence[Any]) -> bool:
        """Tell whether some times of a block are too large for a double to keep nanoseconds."""
        times = [e.ts for e in events if type(e) is Complete]
        return any(t > _EXACT_US and t != int(t) for t in times)

    def add(self, events: Sequence[Any]) -> None:
        """Add the events of a block."""
        self.events += len(events)
        host: list[Any] = []
        gpu: list[Any] = []
        waits: list[Any] = []
        kinds = self._kinds
        for event in events:
            if hasattr(event, "dur"):
                kind = kinds[event.cat]
                if kind == _OTHER:
                    continue
                if kind < _GPU_BASE:
                    host.append(event)
                elif kind < _WAIT:
                    gpu.append(event)
                elif kind == _WAIT:
                    waits.append(event)
                else:
                    self._add_span(event)
            else:
                self._add_other(event)
        if host:
            self._add_host(host)
        if gpu:
            self._add_gpu(gpu)
        if waits:
            self._add_waits(waits)

    def _add_other(self, event: object) -> None:
        if isinstance(event, Metadata):
            name = (event.args or {}).get("name")
            if event.name == "thread_name" and isinstance(name, str):
                self.thread_names[str(event.pid), str(event.tid)] = name
        elif isinstance(event, Flow | FlowEnd) and math.isfinite(event.ts):
            at = int(round(event.ts * 1000))
            if isinstance(event, Flow):
                self.flow_starts[event.id] = (self.threads[event.pid, event.tid], at)
            else:
                self.flow_ends[self.places[event.pid, event.tid], at] = event.id

    def _add_span(self, event: Complete) -> None:
        # The recorder's own window is the span that names it.
        if "profiler" in event.name.lower():
            start, end, events = self._times([event])
            if events:
                self.spans.append((int(start[0]), int(end[0])))

    def _times(self, events: Sequence[Any]) -> tuple[Ints, Ints, list[Any]]:
        """Start and end (ns) of the events whose times make sense, and those events."""
        length = np.array([float(e.dur) for e in events])
        begin = np.array([float(e.ts) for e in events])
        good = np.isfinite(length) & np.isfinite(begin)
        self.left_out["duration missing or not a number"] += int((~np.isfinite(length)).sum())
        with np.errstate(invalid="ignore"):
            negative, enormous = good & (length < 0), good & (length > _LONGEST_US)
            far = good & (np.abs(begin) > _LONGEST_US * 1e4)
        self.left_out["negative duration"] += int(negative.sum())
        self.left_out["enormous duration"] += int((enormous | far).sum())
        good &= ~(negative | enormous | far)
        if not good.all():
            events = [e for e, ok in zip(events, good, strict=True) if ok]
            begin, length = begin[good], length[good]
        if events and not isinstance(events[0], Complete):
            start = np.array([int(e.ts * 1000) for e in events], dtype=np.int64)
            took = np.array([int(e.dur * 1000) for e in events], dtype=np.int64)
        else:
            start, took = _to_ns(begin), _to_ns(length)
        return start, start + took, list(events)

    def _add_host(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        names, threads, kinds = self.names, self.threads, self._kinds
        table = np.empty((6, len(events)), dtype=np.int64)
        table[0], table[1] = start, end
        table[2] = [names[e.name] for e in events]
        table[3] = [kinds[e.cat] for e in events]
        table[4] = [threads[e.pid, e.tid] for e in events]
        table[5] = _column(events, "correlation")
        table[5][table[3] != HostKind.RUNTIME] = -1
        self.host.append(table)

    def _add_gpu(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        names, kinds = self.names, self._kinds
        table = np.empty((14, len(events)), dtype=np.int64)
        table[0], table[1] = start, end
        table[2] = [names[e.name] for e in events]
        table[3] = [kinds[e.cat] - _GPU_BASE for e in events]
        table[4] = _column(events, "device")
        table[5] = _column(events, "stream")
        table[6] = _column(events, "correlation")
        table[7] = [_product(e.args.grid) if e.args else -1 for e in events]
        table[8] = [_product(e.args.block) if e.args else -1 for e in events]
        table[9] = _column(events, "registers")
        table[10] = _column(events, "shared")
        table[11] = _column(events, "bytes")
        table[12] = _column(events, "graph_node")
        table[13] = [self.places[e.pid, e.tid] for e in events]
        # Old recorders name device and stream only by the row that shows the event.
        device, stream = table[4], table[5]
        device[device < 0] = [_small(e.pid) for e, d in zip(events, device, strict=True) if d < 0]
        stream[stream < 0] = [_small(e.tid) for e, s in zip(events, stream, strict=True) if s < 0]
        self.gpu.append(table)

    def _add_waits(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        table = np.empty((8, len(events)), dtype=np.int64)
        table[0], table[1] = start, end
        table[2] = [self.names[e.name] for e in events]
        table[3] = _column(events, "device")
        table[4] = _column(events, "stream")
        table[5] = _column(events, "wait_on_stream")
        table[6] = _column(events, "correlation")
        table[7] = _column(events, "record_correlation")
        # Recorders write "no stream" as the largest number of their type.
        for row in (4, 5):
            table[row][table[row] >= (1 << 32) - 1] = -1
        self.waits.append(table)


def _to_ns(us: Floats) -> Ints:
    """Microseconds to nanoseconds; exact up to 2**43 us, and for whole microseconds beyond."""
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def _column(events: list[Any], field: str) -> Ints:
    """One argument of every event, -1 where it is absent, the largest integer where too large."""
    values = [getattr(e.args, field) if e.args else -1 for e in events]
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array([min(max(v, -1), _LARGEST) for v in values], dtype=np.int64)


def _product(sides: list[int] | None) -> int:
    if not sides:
        return -1
    product = math.prod(sides)
    return product if 0 < product <= _LARGEST else -1


def _small(identifier: int | str) -> int:
    """Read a device or stream from the row that shows an event; 0 when it is no number."""
    if isinstance(identifier, int) and 0 <= identifier < _LARGEST:
        return identifier
    digits = "".join(c for c in str(identifier) if c.isdigit())[:18]
    return int(digits) if digits else 0
