"""Reads ONNX Runtime's own profile: the ``.json`` of ``SessionOptions.enable_profiling``.

A step is a ``model_run`` of a session, an operator is a node of the graph. Runtime calls are not
recorded: what launched a kernel is the node after which the file lists it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tailwave.model import HostKind, Timeline
from tailwave.recordings.readers.reader import ByteProgress, Certainty
from tailwave.recordings.readers.trace_columns import Columns
from tailwave.recordings.readers.trace_events import (
    Args,
    BlockDecoder,
    Complete,
    Event,
    PreciseComplete,
    integer,
)
from tailwave.recordings.readers.trace_timeline import collect, timeline_of

WHAT: str = "profiles of ONNX Runtime (.json)"
SUFFIXES: tuple[str, ...] = (".json",)
RUNS: str = ""
RECORD_GPU: str = (
    "ONNX Runtime records GPU kernels in builds with --enable_cuda_profiling alone: record with "
    "such a build and the CUDA execution provider, or with `nsys profile --trace=cuda`."
)
_SESSION = re.compile(rb'"cat"\s*:\s*"Session"')
_STEP = "model_run"
# A node's event is called after it and this; others of its events are fences.
_NODE_SUFFIX = "_kernel_time"
_SIDES = "xyz"


def claims(path: Path, head: bytes) -> Certainty:
    """Know a profile by its session, whose loading or first run comes first."""
    del path
    return Certainty.BY_CONTENT if _SESSION.search(head) else Certainty.NOT_MINE


def read_timelines(path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
    """Read one profile: the recording of one session."""
    columns = Columns(launched_by=HostKind.OPERATOR)
    decoder = BlockDecoder(dict[str, Any])
    trace = collect(path, progress, columns, decoder, translation=_Translation())
    return [timeline_of(path, trace, "onnxruntime")]


class _Translation:
    """Gives events Kineto's categories and arguments, and numbers the nodes in their order."""

    def __init__(self) -> None:
        self._node = 0

    def __call__(self, events: Sequence[Event]) -> list[Event]:
        """Translate a block of events; leave out what repeats others, or is start-up."""
        translated: list[Event] = []
        for event in events:
            if not isinstance(event, Complete | PreciseComplete):
                continue
            if event.cat == "Session" and event.name == _STEP:
                translated.append(replace(event, cat="user_annotation", args=None))
            elif event.cat == "Node" and event.name.endswith(_NODE_SUFFIX):
                self._node += 1
                # "Conv" rather than "Conv_17": what tells where the time goes is the kind of node.
                name = (event.args or {}).get("op_name") or event.name.removesuffix(_NODE_SUFFIX)
                number = Args(correlation=self._node)
                translated.append(replace(event, name=str(name), cat="cpu_op", args=number))
            elif event.cat == "Kernel":
                translated.append(self._on_gpu(event, event.args or {}))
        return translated

    def _on_gpu(self, event: Event, args: dict[str, Any]) -> Event:
        sides = [[integer(args.get(f"{of}_{side}")) for side in _SIDES] for of in ("grid", "block")]
        # A side that is absent is of length 1, as in the first releases that recorded kernels.
        grid, block = (tuple(abs(s) for s in of) if of[0] > 0 else None for of in sides)
        numbers = Args(
            device=0,  # a session runs on one GPU, whose number is not recorded
            stream=integer(args.get("stream")),
            correlation=self._node or -1,
            grid=grid,
            block=block,
        )
        copied = str(getattr(event, "name", "")).startswith("Memcpy")
        return replace(event, cat="gpu_memcpy" if copied else "kernel", args=numbers)
