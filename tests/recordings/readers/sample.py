"""A small sound trace for tests of the Kineto reader, and ways to write it down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]
TINY = 64  # bytes a block: less than an event


def complete(cat: str, name: str, ts: float, dur: float, **args: Any) -> Event:  # noqa: ANN401
    """Make a complete event on a thread of the host; args holds any JSON."""
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 100,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def on_gpu(cat: str, name: str, ts: float, dur: float, **args: Any) -> Event:  # noqa: ANN401
    """Make a complete event on stream 20 of device 0."""
    args = {"device": 0, "stream": 20} | args
    return complete(cat, name, ts, dur, **args) | {"pid": args["device"], "tid": args["stream"]}


def kernel(name: str, ts: float, dur: float, correlation: int, **args: Any) -> Event:  # noqa: ANN401
    """Make a kernel of 6 CTAs of 64 threads."""
    shape = {
        "grid": [3, 2, 1],
        "block": [32, 2, 1],
        "registers per thread": 16,
        "shared memory": 1024,
    }
    return on_gpu("kernel", name, ts, dur, correlation=correlation, **(shape | args))


def launch(ts: float, dur: float, correlation: int, name: str = "cudaLaunchKernel") -> Event:
    """Make a call of the runtime."""
    return complete("cuda_runtime", name, ts, dur, correlation=correlation)


EVENTS: list[Event] = [
    {"ph": "M", "name": "thread_name", "pid": 100, "tid": 7, "ts": 0, "args": {"name": "main"}},
    complete("user_annotation", "ProfilerStep#1", 10, 90),
    complete("cpu_op", "aten::mm", 11.5, 20.25),
    launch(13.125, 4, 1),
    kernel("gemm", 18.001, 30, 1),
    complete("cuda_runtime", "cudaMemcpyAsync", 35, 3, correlation=2),
    on_gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 50, 5, correlation=2, bytes=4096),
    complete("cuda_runtime", "cudaStreamSynchronize", 60, 30, correlation=3),
    on_gpu("cuda_sync", "Stream Sync", 60, 29, correlation=3, wait_on_stream=20),
    {"ph": "i", "name": "mark", "s": "g", "pid": "Traces", "tid": "Trace", "ts": 1},
    complete("Trace", "PyTorch Profiler (0)", 0, 120) | {"pid": "Spans", "tid": "PyTorch Profiler"},
]


def write(path: Path, document: object) -> Path:
    """Write a document as JSON; bytes as they are, a list of events as a trace."""
    if isinstance(document, bytes):
        path.write_bytes(document)
    else:
        path.write_text(json.dumps(document), encoding="utf-8")
    return path


def trace(events: list[Event], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Wrap events as the profiler does."""
    return {"schemaVersion": 1, **more, "traceEvents": events}
