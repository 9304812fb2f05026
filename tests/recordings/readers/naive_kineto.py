"""A plain reading of sound Kineto traces, to hold the fast one against: one json.load, row by row.

It knows today's categories only, and takes what is written at its word.
"""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from math import prod
from pathlib import Path
from typing import Any

from tailwave.model import GpuTable, HostTable, Timeline, WaitTable

HOST_KINDS = {
    "cpu_op": 0,
    "cuda_runtime": 1,
    "cuda_driver": 1,
    "python_function": 2,
    "user_annotation": 3,
}
GPU_KINDS = {"kernel": 0, "gpu_memcpy": 1, "gpu_memset": 2}
NO_STREAM = (-1, (1 << 32) - 1, (1 << 64) - 1)

Row = dict[str, Any]


def load(path: Path) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Decode a trace as a whole, with decimal numbers as they are written."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return json.loads(data, parse_float=Decimal)


def rows(events: list[Any]) -> dict[str, list[Row]]:
    """Return the rows of the three tables, with names and threads as text."""
    complete = [e for e in events if e["ph"] == "X"]
    host = [_host_row(e) for e in complete if e["cat"] in HOST_KINDS]
    gpu = [_gpu_row(e) for e in complete if e["cat"] in GPU_KINDS]
    waits = [_wait_row(e) for e in complete if e["cat"] == "cuda_sync"]
    host.sort(key=lambda row: (row["start"], -row["end"]))
    gpu.sort(key=lambda row: (row["start"], row["end"]))
    waits.sort(key=lambda row: row["start"])
    calls = {row["correlation"]: at for at, row in enumerate(host) if row["correlation"] >= 0}
    for row in gpu:
        row["launch"] = calls.get(row["correlation"], -1)
    return {"host": host, "gpu": gpu, "waits": waits}


def rows_of(timeline: Timeline) -> dict[str, list[Row]]:
    """Return a timeline's tables as rows of the same form."""
    return {
        "host": _table_rows(timeline, timeline.host),
        "gpu": _table_rows(timeline, timeline.gpu),
        "waits": _table_rows(timeline, timeline.waits),
    }


def window(events: list[Any]) -> tuple[int, int]:
    """Return the recorder's own window, in ns."""
    span = next(e for e in events if e.get("cat") == "Trace")
    return _ns(span["ts"]), _ns(span["ts"]) + _ns(span["dur"])


def _table_rows(timeline: Timeline, table: HostTable | GpuTable | WaitTable) -> list[Row]:
    columns = {field: getattr(table, field).tolist() for field in table.__struct_fields__}
    columns["name"] = [timeline.names[code] for code in columns["name"]]
    if "thread" in columns:
        threads = [(t.pid, t.tid) for t in timeline.threads]
        columns["thread"] = [threads[code] for code in columns["thread"]]
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _ns(microseconds: Decimal | int) -> int:
    return round(microseconds * 1000)


def _span(event: Any) -> Row:  # noqa: ANN401 - an event as JSON has it
    start = _ns(event["ts"])
    return {"name": event["name"], "start": start, "end": start + _ns(event["dur"])}


def _host_row(event: Any) -> Row:  # noqa: ANN401 - as above
    kind = HOST_KINDS[event["cat"]]
    correlation = event.get("args", {}).get("correlation", -1) if kind == 1 else -1
    thread = str(event["pid"]), str(event["tid"])
    return _span(event) | {"kind": kind, "thread": thread, "correlation": correlation}


def _gpu_row(event: Any) -> Row:  # noqa: ANN401 - as above
    args = event["args"]
    return _span(event) | {
        "kind": GPU_KINDS[event["cat"]],
        "device": args["device"],
        "stream": args["stream"],
        "correlation": args.get("correlation", -1),
        "grid": prod(args["grid"]) if "grid" in args else -1,
        "block": prod(args["block"]) if "block" in args else -1,
        "registers": args.get("registers per thread", -1),
        "shared": args.get("shared memory", -1),
        "bytes": args.get("bytes", -1),
        "graph_node": args.get("graph node id", -1),
    }


def _wait_row(event: Any) -> Row:  # noqa: ANN401 - as above
    args = event["args"]
    streams = [
        -1 if args.get(k, -1) in NO_STREAM else args[k] for k in ("stream", "wait_on_stream")
    ]
    return _span(event) | {
        "device": args.get("device", -1),
        "stream": streams[0],
        "source_stream": streams[1],
        "correlation": args.get("correlation", -1),
        "record_correlation": args.get("wait_on_cuda_event_record_corr_id", -1),
    }
