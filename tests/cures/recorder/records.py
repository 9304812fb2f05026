"""CUPTI's records, built field by field at the offsets of cupti_activity.h (CUDA 13.0)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tailwave.cures.recorder.raw import ProcessReport

SIZES = {1: 96, 2: 88, 4: 40, 5: 40, 10: 216, 12: 56, 22: 96, 36: 56, 38: 56}


def record(kind: int, *fields: tuple[int, str, int], size: int = 0) -> bytes:
    """Return a record whose other bytes are 0; a field is an offset, a struct code, a value."""
    raw = bytearray(size or SIZES[kind])
    struct.pack_into("<I", raw, 0, kind)
    for offset, code, value in fields:
        struct.pack_into(f"<{code}", raw, offset, value)
    return bytes(raw)


def kernel(  # noqa: PLR0913 - the fields of a kernel, each given by its name
    start: int,
    end: int,
    *,
    correlation: int = 1,
    name: int = 900,
    device: int = 0,
    stream: int = 7,
    node: int = 0,
    size: int = 216,
) -> bytes:
    """Return a kernel of 6 x 5 x 4 blocks of 8 x 2 x 2 threads."""
    sides = [(52, 6), (56, 5), (60, 4), (64, 8), (68, 2), (72, 2)]
    return record(
        10,
        (6, "H", 40),
        (16, "Q", start),
        (24, "Q", end),
        (40, "I", device),
        (44, "I", device + 1),
        (48, "I", stream),
        *((offset, "i", value) for offset, value in sides),
        (76, "i", 1024),
        (80, "i", 512),
        (92, "I", correlation),
        (104, "Q", name),
        (144, "Q", node),
        size=size,
    )


def call(kind: int, start: int, end: int, *, number: int, correlation: int = 1) -> bytes:
    """Return a call of the runtime (5) or the driver (4), in thread 77."""
    return record(
        kind,
        (4, "I", number),
        (8, "Q", start),
        (16, "Q", end),
        (24, "I", 42),
        (28, "I", 77),
        (32, "I", correlation),
    )


def report(folder: Path, raw: bytes, **fields: Any) -> ProcessReport:  # noqa: ANN401 - fields of ProcessReport
    """Write records down; return the process's report of them."""
    path = folder / "process-42.records"
    path.write_bytes(raw)
    return ProcessReport(
        **{
            "pid": 42,
            "records": str(path),
            "blocks": (len(raw),),
            "sizes": SIZES,
            "texts": {0: "", 900: "_Z4gemmPf"},
            "calls": {"1:307": "cuLaunchKernel", "2:211": "cudaLaunchKernel_v7000"},
            "threads": {"77": "python3"},
            "complete": True,
            **fields,
        }
    )
