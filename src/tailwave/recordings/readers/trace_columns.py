"""Collects the events of a trace into columns, a block at a time, by Kineto's categories.

A reader of another profiler's trace gives its events Kineto's categories and arguments first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from tailwave.model import Flags, Floats, GpuKind, HostKind, Ints
from tailwave.recordings.activity.tables import Rows
from tailwave.recordings.readers.trace_events import (
    Args,
    Begin,
    Complete,
    End,
    FlowBegin,
    FlowEnd,
    Metadata,
    Pairing,
    PreciseComplete,
    arguments,
)

# Categories, in lower case as all releases since 2021 spell them but for case.
_HOST = {
    "cpu_op": HostKind.OPERATOR,
    "operator": HostKind.OPERATOR,
    "python_function": HostKind.PYTHON,
    "python": HostKind.PYTHON,
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
_LAUNCH_ARROWS = frozenset({"ac2g", "async_cpu_to_gpu", "async"})
_COMPLETES = frozenset({Complete, PreciseComplete})
_OTHERS = frozenset({Metadata, FlowBegin, FlowEnd, Begin, End})
# Kinds as one number: the tens tell the table, the rest the kind in it.
_BASE = 10
_ON_HOST, _ON_GPU, _WAIT, _SPAN, _OTHER = 0, 10, 20, 30, -1
_LARGEST = int(np.iinfo(np.int64).max)
_LARGEST_SMALL = int(np.iinfo(np.int32).max)
# Recorders write "no stream" as the largest number of their type.
_NO_STREAM = (1 << 32) - 1
# Longer events (us) are a recorder's garbage: eleven days.
_LONGEST_US = 1e12
# And so are later times (us), in the year 2096, or earlier ones; in nanoseconds they fit 63 bits.
_LATEST_US = 4e15
_DIMENSIONS = 3

Place: TypeAlias = tuple[int | str, int | str]  # pid and tid: the row of the viewer


class Numbering(dict[Any, int]):
    """Numbers its keys in the order in which they are first looked up."""

    def __missing__(self, key: Any) -> int:  # noqa: ANN401 - names, pids and tids of any type
        """Give a new key the next number."""
        self[key] = code = len(self)
        return code


class Places(dict[Place, int]):
    """Numbers places in the order in which they are first looked up; 1 and "1" are one place."""

    def __init__(self) -> None:
        """Begin with no places."""
        super().__init__()
        self.texts: dict[tuple[str, str], int] = {}  # as the recorder wrote them

    def __missing__(self, place: Place) -> int:
        """Give a new place the next number, and another spelling of it the same."""
        text = str(place[0]), str(place[1])
        self[place] = code = self.texts.setdefault(text, len(self.texts))
        return code


class _Kinds(dict[str, int]):
    """Maps a category to its kind, deciding once for each spelling."""

    def __missing__(self, category: str) -> int:
        known = category.lower()
        kind = _OTHER
        if known in _HOST:
            kind = _ON_HOST + int(_HOST[known])
        elif known in _GPU:
            kind = _ON_GPU + int(_GPU[known])
        elif known == "runtime" or known.endswith(_RUNTIME_ENDS):
            kind = int(HostKind.RUNTIME)
        elif known == "cuda_sync":
            kind = _WAIT
        elif known == "trace":
            kind = _SPAN
        self[category] = kind
        return kind


class _Products(dict[tuple[int, ...] | None, int]):
    """The number of CTAs of a grid, or of threads of a CTA; -1 where its sides make no sense."""

    def __missing__(self, sides: tuple[int, ...] | None) -> int:
        product = math.prod(sides) if sides and len(sides) <= _DIMENSIONS else -1
        self[sides] = product = product if 0 < product <= _LARGEST else -1
        return product


class Columns:
    """All that has been read of a trace; the lists hold one table a block.

    ``flow_begins`` maps an arrow to the thread and time (ns) of its begin, ``flow_ends`` a place
    (its code in ``places``) and time to the arrow that ends there. ``processes`` are the names of
    processes, ``categories`` those of complete events.
    """

    def __init__(self, launched_by: HostKind = HostKind.RUNTIME) -> None:
        """Begin with nothing; say what kind of host row the correlation of GPU work leads to."""
        self._launched_by = launched_by
        self.names = Numbering()
        self.threads = Places()
        self.thread_names: dict[tuple[str, str], str] = {}
        self.processes: set[str] = set()
        self.host: list[Rows] = []
        self.gpu: list[Rows] = []
        self.waits: list[Rows] = []
        self.spans: list[tuple[int, int]] = []
        self.places = Places()
        self.flow_begins: dict[int | str, tuple[Place, int]] = {}
        self.flow_ends: dict[tuple[int, int], int | str] = {}
        self.left_out: Counter[str] = Counter()
        self._kinds = _Kinds()
        self._products = _Products()
        self._pairing = Pairing()

    @property
    def categories(self) -> list[str]:
        """The categories of complete events, in the order of their first use."""
        return [category for category in self._kinds if category]

    def add(self, events: Sequence[Any]) -> None:
        """Add the events of a block."""
        rest: list[Any] = []
        aside = rest.append  # returns nothing, so that one look sorts out both kinds
        self._add_complete([e for e in events if type(e) in _COMPLETES or aside(e)])
        paired: list[PreciseComplete[Any]] = []
        for event in [e for e in rest if type(e) in _OTHERS]:
            if isinstance(event, Begin | End):
                whole = self._pairing.add(event)
                paired += [whole] if whole else []
            else:
                self._add_other(event)
        self._add_complete(paired)

    def finish(self) -> None:
        """Count what has waited in vain for another event."""
        self.left_out["begin without an end"] += self._pairing.begins_alone
        self.left_out["end without a begin"] += self._pairing.ends_alone

    def _add_complete(self, events: list[Any]) -> None:
        kinds = self._kinds
        kind = _ints([kinds[e.cat] for e in events])
        events, kind = _chosen(events, kind, kind != _OTHER)
        start, end, good = self._times(events)
        events, kind = _chosen(events, kind, good)
        for table, add in (
            (_ON_HOST, self._add_host),
            (_ON_GPU, self._add_gpu),
            (_WAIT, self._add_waits),
            (_SPAN, self._add_spans),
        ):
            mine = kind // _BASE == table // _BASE
            if mine.any():
                rows = {"start": start[mine], "end": end[mine], "kind": kind[mine] - table}
                add(_chosen(events, kind, mine)[0], rows)

    def _add_other(self, event: Metadata | FlowBegin | FlowEnd) -> None:
        if not isinstance(event, Metadata):
            self._add_flow(event)
        elif isinstance(name := (event.args or {}).get("name"), str):
            if event.name == "thread_name":
                self.thread_names[str(event.pid), str(event.tid)] = name
            elif event.name == "process_name":
                self.processes.add(name)

    def _add_flow(self, event: FlowBegin | FlowEnd) -> None:
        if event.cat not in _LAUNCH_ARROWS or not -_LATEST_US <= event.ts <= _LATEST_US:
            return
        at = round(event.ts * 1000)
        if isinstance(event, FlowBegin):
            self.flow_begins[event.id] = ((event.pid, event.tid), at)
        else:
            self.flow_ends[self.places[event.pid, event.tid], at] = event.id

    def _add_spans(self, events: list[Any], rows: Rows) -> None:
        # The recorder's own window is the span that names it.
        spans = zip(events, rows["start"].tolist(), rows["end"].tolist(), strict=True)
        self.spans += [(start, end) for e, start, end in spans if "profiler" in e.name.lower()]

    def _times(self, events: list[Any]) -> tuple[Ints, Ints, Flags]:
        """Start and end (ns) of the events whose times make sense, and which those are."""
        begin = np.fromiter([e.ts for e in events], np.float64, len(events))
        length = np.fromiter([e.dur for e in events], np.float64, len(events))
        # Not so of what is no number.
        good = (length >= 0) & (length <= _LONGEST_US) & (np.abs(begin) <= _LATEST_US)
        if not good.all():
            unknown, negative = np.isnan(length), length < 0
            self.left_out["duration missing or not a number"] += int(unknown.sum())
            self.left_out["negative duration"] += int(negative.sum())
            impossible = ~(good | unknown | negative)
            self.left_out["enormous time or duration"] += int(impossible.sum())
            events = list(compress(events, good.tolist()))
            begin, length = begin[good], length[good]
        if events and isinstance(events[0], PreciseComplete):
            start = _ints([round(e.ts * 1000) for e in events])
            took = _ints([round(e.dur * 1000) for e in events])
        else:
            start, took = _to_ns(begin), _to_ns(length)
        return start, start + took, good

    def _add_host(self, events: list[Any], rows: Rows) -> None:
        threads = self.threads
        calls = rows["kind"] == self._launched_by
        correlation = np.full(len(events), -1, dtype=np.int64)
        called = list(compress(events, calls.tolist()))
        correlation[calls] = _column(arguments(called), "correlation")
        self.host.append(
            rows
            | {
                "name": self._name_codes(events),
                "thread": _ints([threads[e.pid, e.tid] for e in events]),
                "correlation": correlation,
            }
        )

    def _add_gpu(self, events: list[Any], rows: Rows) -> None:
        places, products = self.places, self._products
        args = arguments(events)
        device, stream = _column(args, "device"), _column(args, "stream")
        # Old recorders name device and stream only by the row that shows the event.
        device[device < 0] = [_small(events[i].pid) for i in np.flatnonzero(device < 0)]
        stream[stream < 0] = [_small(events[i].tid) for i in np.flatnonzero(stream < 0)]
        self.gpu.append(
            rows
            | {
                "name": self._name_codes(events),
                "device": np.minimum(device, _LARGEST_SMALL),
                "stream": stream,
                "correlation": _column(args, "correlation"),
                "grid": _ints([products[a.grid] for a in args]),
                "block": _ints([products[a.block] for a in args]),
                "registers": _column(args, "registers"),
                "shared": _column(args, "shared"),
                "bytes": _column(args, "bytes"),
                "graph_node": _column(args, "graph_node"),
                "place": _ints([places[e.pid, e.tid] for e in events]),
            }
        )

    def _add_waits(self, events: list[Any], rows: Rows) -> None:
        args = arguments(events)
        stream, source, record = (
            np.where((column := _column(args, field)) >= _NO_STREAM, -1, column)
            for field in ("stream", "wait_on_stream", "record_correlation")
        )
        self.waits.append(
            rows
            | {
                "name": self._name_codes(events),
                "device": np.minimum(_column(args, "device"), _LARGEST_SMALL),
                "stream": stream,
                "source_stream": source,
                "correlation": _column(args, "correlation"),
                "record_correlation": record,
            }
        )

    def _name_codes(self, events: Sequence[Any]) -> Ints:
        names = self.names
        return _ints([names[e.name] for e in events])


def _chosen(events: list[Any], kind: Ints, which: Flags) -> tuple[list[Any], Ints]:
    """Pick some of the events, and their kinds."""
    return (events, kind) if which.all() else (list(compress(events, which.tolist())), kind[which])


def _ints(values: list[int]) -> Ints:
    return np.fromiter(values, np.int64, len(values))


def _to_ns(us: Floats) -> Ints:
    """Microseconds to nanoseconds; exact up to 2**43 us, and for whole microseconds beyond."""
    whole = np.floor(us)
    return whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)


def _column(args: list[Args], field: str) -> Ints:
    """One argument of every event, -1 where it is absent, the largest integer where too large."""
    values = list(map(attrgetter(field), args))
    try:
        column = _ints(values)
    except OverflowError:
        column = _ints([min(max(v, -1), _LARGEST) for v in values])
    return np.maximum(column, -1)


def _small(identifier: int | str) -> int:
    """Read a device or stream from the row that shows an event; 0 when it is no number."""
    if isinstance(identifier, int) and 0 <= identifier < _LARGEST:
        return identifier
    digits = "".join(c for c in str(identifier) if c in "0123456789")[:18]
    return int(digits) if digits else 0
