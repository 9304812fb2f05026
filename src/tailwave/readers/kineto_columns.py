"""Collects the events of a Kineto trace into columns, a block at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tailwave.model import Floats, GpuKind, HostKind, Ints
from tailwave.readers.kineto_events import Begin, Complete, FlowBegin, FlowEnd, Metadata

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
# Arrows from a call to the work it launched; there are others, from forward to backward.
_LAUNCH_ARROWS = frozenset({"ac2g", "async_cpu_to_gpu"})
# Kinds as one number: host kinds as they are, GPU kinds from 10 up.
_GPU_BASE, _WAIT, _SPAN, _OTHER = 10, 100, 101, -1
_LARGEST = int(np.iinfo(np.int64).max)
_LARGEST_SMALL = int(np.iinfo(np.int32).max)
# Recorders write "no stream" as the largest number of their type.
_NO_STREAM = (1 << 32) - 1
# Longer events (us) are a recorder's garbage: eleven days.
_LONGEST_US = 1e12
# And so are later times (us), in the year 2096, or earlier ones; in nanoseconds they fit 63 bits.
_LATEST_US = 4e15
# Microseconds up to which a double holds nanoseconds exactly: its 53 bits, less ten for 1/1000.
_EXACT_US = float(1 << 43)
_DIMENSIONS = 3

Table: TypeAlias = dict[str, Ints]
Place: TypeAlias = tuple[int | str, int | str]  # pid and tid: the row of the viewer


class Codes(dict[Any, int]):
    """Numbers its keys in the order in which they are first looked up."""

    def __missing__(self, key: Any) -> int:  # noqa: ANN401 - names, pids and tids of any type
        """Give a new key the next number."""
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
    """All that has been read of a trace; the lists hold one table a block.

    ``flow_begins`` maps an arrow to the place and time (ns) of its begin, ``flow_ends`` a place
    (its code in ``places``) and time to the arrow that ends there.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.names = Codes()
        self.threads = Codes()
        self.thread_names: dict[tuple[str, str], str] = {}
        self.host: list[Table] = []
        self.gpu: list[Table] = []
        self.waits: list[Table] = []
        self.spans: list[tuple[int, int]] = []
        self.places = Codes()
        self.flow_begins: dict[int | str, tuple[Place, int]] = {}
        self.flow_ends: dict[tuple[int, int], int | str] = {}
        self.left_out: Counter[str] = Counter()
        self.events = 0
        self._kinds = _Kinds()

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
        elif isinstance(event, FlowBegin | FlowEnd):
            self._add_flow(event)
        elif isinstance(event, Begin):
            self.left_out["begin and end are two events"] += 1

    def _add_flow(self, event: FlowBegin | FlowEnd) -> None:
        if event.cat not in _LAUNCH_ARROWS or abs(event.ts) > _LATEST_US:
            return
        at = round(event.ts * 1000)
        if isinstance(event, FlowBegin):
            self.flow_begins[event.id] = ((event.pid, event.tid), at)
        else:
            self.flow_ends[self.places[event.pid, event.tid], at] = event.id

    def _add_span(self, event: Any) -> None:  # noqa: ANN401 - one of two types
        # The recorder's own window is the span that names it.
        if "profiler" in event.name.lower():
            start, end, events = self._times([event])
            if events:
                self.spans.append((int(start[0]), int(end[0])))

    def _times(self, events: Sequence[Any]) -> tuple[Ints, Ints, list[Any]]:
        """Start and end (ns) of the events whose times make sense, and those events."""
        length = np.array([float(e.dur) for e in events])
        begin = np.array([float(e.ts) for e in events])
        unknown, negative = np.isnan(length), length < 0
        enormous = (length > _LONGEST_US) | (np.abs(begin) > _LATEST_US)
        self.left_out["duration missing or not a number"] += int(unknown.sum())
        self.left_out["negative duration"] += int(negative.sum())
        self.left_out["enormous time or duration"] += int((enormous & ~negative).sum())
        good = ~(unknown | negative | enormous)
        if not good.all():
            events = [e for e, ok in zip(events, good, strict=True) if ok]
            begin, length = begin[good], length[good]
        if events and not isinstance(events[0], Complete):
            start = np.array([round(e.ts * 1000) for e in events], dtype=np.int64)
            took = np.array([round(e.dur * 1000) for e in events], dtype=np.int64)
        else:
            start, took = _to_ns(begin), _to_ns(length)
        return start, start + took, list(events)

    def _add_host(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        kinds, threads = self._kinds, self.threads
        kind = np.array([kinds[e.cat] for e in events], dtype=np.int64)
        correlation = _column(events, "correlation")
        correlation[kind != HostKind.RUNTIME] = -1
        self.host.append(
            {
                "start": start,
                "end": end,
                "name": self._name_codes(events),
                "kind": kind,
                "thread": np.array([threads[e.pid, e.tid] for e in events], dtype=np.int64),
                "correlation": correlation,
            }
        )

    def _add_gpu(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        kinds, places = self._kinds, self.places
        device, stream = _column(events, "device"), _column(events, "stream")
        # Old recorders name device and stream only by the row that shows the event.
        device[device < 0] = [_small(e.pid) for e, d in zip(events, device, strict=True) if d < 0]
        stream[stream < 0] = [_small(e.tid) for e, s in zip(events, stream, strict=True) if s < 0]
        sides = [(e.args.grid, e.args.block) if e.args else (None, None) for e in events]
        self.gpu.append(
            {
                "start": start,
                "end": end,
                "name": self._name_codes(events),
                "kind": np.array([kinds[e.cat] - _GPU_BASE for e in events], dtype=np.int64),
                "device": np.minimum(device, _LARGEST_SMALL),
                "stream": stream,
                "correlation": _column(events, "correlation"),
                "grid": np.array([_product(grid) for grid, _ in sides], dtype=np.int64),
                "block": np.array([_product(block) for _, block in sides], dtype=np.int64),
                "registers": _column(events, "registers"),
                "shared": _column(events, "shared"),
                "bytes": _column(events, "bytes"),
                "graph_node": _column(events, "graph_node"),
                "place": np.array([places[e.pid, e.tid] for e in events], dtype=np.int64),
            }
        )

    def _add_waits(self, events: list[Any]) -> None:
        start, end, events = self._times(events)
        stream, source = _column(events, "stream"), _column(events, "wait_on_stream")
        stream[stream >= _NO_STREAM] = -1
        source[source >= _NO_STREAM] = -1
        self.waits.append(
            {
                "start": start,
                "end": end,
                "name": self._name_codes(events),
                "device": np.minimum(_column(events, "device"), _LARGEST_SMALL),
                "stream": stream,
                "source_stream": source,
                "correlation": _column(events, "correlation"),
                "record_correlation": _column(events, "record_correlation"),
            }
        )

    def _name_codes(self, events: Sequence[Any]) -> Ints:
        names = self.names
        return np.array([names[e.name] for e in events], dtype=np.int64)


def inexact(events: Sequence[Any]) -> bool:
    """Tell whether some times of a block are too large for a double to keep nanoseconds."""
    times = [e.ts for e in events if type(e) is Complete]
    return any(t > _EXACT_US and not t.is_integer() for t in times)


def _to_ns(us: Floats) -> Ints:
    """Microseconds to nanoseconds; exact up to 2**43 us, and for whole microseconds beyond."""
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def _column(events: Sequence[Any], field: str) -> Ints:
    """One argument of every event, -1 where it is absent, the largest integer where too large."""
    values = [getattr(e.args, field) if e.args else -1 for e in events]
    try:
        column = np.array(values, dtype=np.int64)
    except OverflowError:
        column = np.array([min(max(v, -1), _LARGEST) for v in values], dtype=np.int64)
    return np.maximum(column, -1)


def _product(sides: list[int] | None) -> int:
    if not sides or len(sides) > _DIMENSIONS:
        return -1
    product = math.prod(sides)
    return product if 0 < product <= _LARGEST else -1


def _small(identifier: int | str) -> int:
    """Read a device or stream from the row that shows an event; 0 when it is no number."""
    if isinstance(identifier, int) and 0 <= identifier < _LARGEST:
        return identifier
    digits = "".join(c for c in str(identifier) if c in "0123456789")[:18]
    return int(digits) if digits else 0
