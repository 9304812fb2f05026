"""Reads the traces of JAX's profiler: ``DIR/plugins/profile/RUN/HOST.trace.json.gz``.

``jax.profiler.trace(DIR)`` writes them. A process of the trace is a GPU or the host, a thread of a
GPU is a stream; other lines of a GPU ("XLA Ops", "XLA Modules") are derived from the streams and
not read. A step is what ran under ``StepTraceAnnotation``. What the GPU is, is not in the trace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.recordings.readers.reader import ByteProgress, Certainty
from tailwave.recordings.readers.trace_columns import Columns
from tailwave.recordings.readers.trace_events import (
    Args,
    BlockDecoder,
    Complete,
    Event,
    Metadata,
    PreciseComplete,
    integer,
)
from tailwave.recordings.readers.trace_timeline import collect, timeline_of

WHAT: str = "traces of JAX's profiler (.trace.json.gz)"
SUFFIXES: tuple[str, ...] = (".trace.json.gz",)
RUNS: str = "plugins/profile/*"
RECORD_GPU: str = "Record with jax.profiler.trace(DIR) where jax.devices() names a GPU."
# The names of processes, which come first in the file.
_PROCESS = re.compile(rb'"name": ?"(/host:CPU|/device:GPU:\d+)')
_GPU = re.compile(r"/device:GPU:(\d+)")
_STREAM = re.compile(r"Stream #(\d+)\(")
# What create_perfetto_trace=True writes: the same once more.
_TWIN = "perfetto_trace.json.gz"
# As in "regs:106 static_shared:0 grid:128,1,1".
_DETAIL = re.compile(r"(\w+):(\S+)")
_COPY = re.compile(r"Memcpy([HDP])(?:to|2)([HDP])")
# The driver's calls have their own names ("cuGraphLaunch (CudaGraph:8)"), but for launches and
# copies, which are called after what they issue.
_CALL = re.compile(r"(cu|hip)[A-Z]\w+")
# The host waits in these without a call of the driver: a frame of JAX's, and a fetch of a value.
_WAIT_FRAME = re.compile(r"\$\w+\.py:\d+ (block_until_ready)$")
_FETCH = "np.asarray(jax.Array)"
_Timed: TypeAlias = Complete[dict[str, Any]] | PreciseComplete[dict[str, Any]]


def claims(path: Path, head: bytes) -> Certainty:
    """Know a trace by the names of its processes; other profilers' names end alike."""
    del path
    return Certainty.BY_CONTENT if _PROCESS.search(head) else Certainty.NOT_MINE


def read_timelines(path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
    """Read one trace: the recording of one host."""
    twins = [] if path.name != _TWIN else sorted(path.parent.glob("*.trace.json.gz"))
    if twins:
        raise UnreadableInputError(f"{path} is a copy of {twins[0].name} beside it: give that.")
    decoder = BlockDecoder(dict[str, Any])
    trace = collect(path, progress, Columns(), decoder, translation=_Translation())
    return [timeline_of(path, trace, "jax")]


class _Translation:
    """Gives events Kineto's categories and arguments, by what their rows in the viewer are."""

    def __init__(self) -> None:
        self._processes: dict[int | str, str] = {}
        self._lines: dict[tuple[int | str, int | str], str] = {}

    def __call__(self, events: Sequence[Event]) -> list[Event]:
        """Translate a block of events; leave out those on lines that are derived."""
        translated: list[Event] = []
        for event in events:
            if isinstance(event, Metadata):
                name = str((event.args or {}).get("name"))
                if event.name == "process_name":
                    self._processes[event.pid] = name
                elif event.name == "thread_name":
                    self._lines[event.pid, event.tid] = name
                translated.append(event)
            elif isinstance(event, Complete | PreciseComplete):
                gpu = _GPU.match(self._processes.get(event.pid, ""))
                stream = _STREAM.match(self._lines.get((event.pid, event.tid), ""))
                if gpu is None:
                    translated.append(_on_host(event))
                elif stream is not None:
                    translated.append(_on_gpu(event, int(gpu[1]), int(stream[1])))
        return translated


def _on_gpu(event: _Timed, device: int, stream: int) -> Event:
    args = event.args or {}
    numbers = Args(
        device=device,
        stream=stream,
        correlation=integer(args.get("correlation_id")),
        graph_node=integer(args.get("cuda_graph_node_id")),
    )
    for kind in ("memcpy", "memset", "Memset"):
        if f"{kind}_details" in args:
            details = dict(_DETAIL.findall(str(args[f"{kind}_details"])))
            numbers.bytes = integer(details.get("size", details.get("num_bytes")))
            name = _copy_name(event.name, details) if kind == "memcpy" else _memset_name(details)
            return replace(event, name=name, cat=f"gpu_{kind.lower()}", args=numbers)
    details = dict(_DETAIL.findall(str(args.get("kernel_details", ""))))
    numbers.registers = integer(details.get("regs"))
    parts = [integer(details.get(f"{part}_shared")) for part in ("static", "dynamic")]
    numbers.shared = sum(parts) if min(parts) >= 0 else -1
    numbers.grid, numbers.block = _sides(details.get("grid")), _sides(details.get("block"))
    return replace(event, cat="kernel", args=numbers)


def _copy_name(name: str, details: dict[str, str]) -> str:
    """Spell a copy as all recorders do: "Memcpy HtoD (Pinned -> Device)"."""
    ends = (_memory(details.get(end)) for end in ("kind_src", "kind_dst"))
    match = _COPY.match(name)
    return f"Memcpy {f'{match[1]}to{match[2]}' if match else 'Unknown'} ({' -> '.join(ends)})"


def _memset_name(details: dict[str, str]) -> str:
    return f"Memset ({_memory(details.get('kind'))})"


def _memory(kind: str | None) -> str:
    return (kind or "unknown").replace("_", " ").title()


def _on_host(event: _Timed) -> Event:
    args = event.args or {}
    if "step_num" in args:
        return replace(event, cat="user_annotation", args=None)
    wait, correlation = _WAIT_FRAME.match(event.name), integer(args.get("correlation_id"))
    call = event.name if event.name == _FETCH else wait[1] if wait else _call_name(event, args)
    if call:
        return replace(event, name=call, cat="cuda_driver", args=Args(correlation=correlation))
    category = "python_function" if event.name.startswith("$") else "cpu_op"
    return replace(event, name=event.name.removeprefix("$"), cat=category, args=None)


def _call_name(event: _Timed, args: dict[str, Any]) -> str:
    """Return the name of a call of the driver; nothing for an event that is none."""
    if match := _CALL.match(event.name):
        return match[0]
    if "correlation_id" not in args:
        return ""
    if match := _COPY.match(event.name):
        later = "Async" if "async:1" in str(args.get("memcpy_details")) else ""
        return f"cuMemcpy{match[1]}to{match[2]}{later}"
    return "cuMemsetAsync" if event.name.startswith("Memset") else "cuLaunchKernel"


def _sides(text: str | None) -> tuple[int, ...] | None:
    """Read "128,1,1"."""
    sides = tuple(map(integer, (text or "").split(",")))
    return sides if min(sides) > 0 else None
