"""Where the fields lie in CUPTI's activity records.

The offsets are those of CUPTI 12.0 to 13.5 (``cupti_activity.h``): each version appends fields to
the records of the one before, and moves none of these. A record's size is the recording's to say.
"""

from __future__ import annotations

from typing import Final

import numpy as np

_Fields = dict[str, tuple[int, str]]

KERNEL: Final = 10
MEMCPY: Final = 1
MEMCPY_PEER: Final = 22
MEMSET: Final = 2
RUNTIME: Final = 5
DRIVER: Final = 4
SYNC: Final = 38
EVENT: Final = 36
MARKER: Final = 12

_CALL: _Fields = {
    "number": (4, "u4"),
    "start": (8, "u8"),
    "end": (16, "u8"),
    "process": (24, "u4"),
    "thread": (28, "u4"),
    "correlation": (32, "u4"),
}
_COPY: _Fields = {
    "copy": (4, "u1"),
    "source": (5, "u1"),
    "target": (6, "u1"),
    "bytes": (8, "u8"),
    "start": (16, "u8"),
    "end": (24, "u8"),
    "device": (32, "u4"),
    "context": (36, "u4"),
    "stream": (40, "u4"),
}
_FIELDS: Final[dict[int, _Fields]] = {
    KERNEL: {
        "registers": (6, "u2"),
        "start": (16, "u8"),
        "end": (24, "u8"),
        "device": (40, "u4"),
        "context": (44, "u4"),
        "stream": (48, "u4"),
        "grid": (52, "(3,)i4"),
        "block": (64, "(3,)i4"),
        "static_shared": (76, "i4"),
        "dynamic_shared": (80, "i4"),
        "correlation": (92, "u4"),
        "name": (104, "u8"),
        "graph_node": (144, "u8"),
    },
    MEMCPY: _COPY | {"correlation": (44, "u4"), "graph_node": (64, "u8")},
    MEMCPY_PEER: _COPY | {"correlation": (60, "u4"), "graph_node": (72, "u8")},
    MEMSET: {
        "bytes": (8, "u8"),
        "start": (16, "u8"),
        "end": (24, "u8"),
        "device": (32, "u4"),
        "context": (36, "u4"),
        "stream": (40, "u4"),
        "correlation": (44, "u4"),
        "memory": (50, "u2"),
        "graph_node": (64, "u8"),
    },
    RUNTIME: _CALL,
    DRIVER: _CALL,
    SYNC: {
        "type": (4, "u4"),
        "start": (8, "u8"),
        "end": (16, "u8"),
        "correlation": (24, "u4"),
        "context": (28, "u4"),
        "stream": (32, "u4"),
    },
    EVENT: {"correlation": (4, "u4"), "context": (8, "u4"), "stream": (12, "u4")},
    MARKER: {
        "flags": (4, "u4"),
        "time": (8, "u8"),
        "id": (16, "u4"),
        "object": (20, "u4"),
        "process": (24, "u4"),
        "thread": (28, "u4"),
        "name": (40, "u8"),
        "domain": (48, "u8"),
    },
}
# Which recording of an event a wait is for: not before CUPTI 12.9, whose records are longer.
_LATER: Final[dict[int, _Fields]] = {
    SYNC: {"event_sync": (40, "u8")},
    EVENT: {"event_sync": (48, "u8")},
}


def layout(kind: int, size: int) -> np.dtype[np.void] | None:
    """Return the fields of a kind's records of this size; None for a kind or size not known."""
    fields = dict(_FIELDS.get(kind, {}))
    later = _LATER.get(kind, {})
    if _end(later) <= size:
        fields |= later
    if not fields or _end(fields) > size:
        return None
    return np.dtype(
        {
            "names": list(fields),
            "formats": [form for _, form in fields.values()],
            "offsets": [offset for offset, _ in fields.values()],
            "itemsize": size,
        }
    )


def _end(fields: _Fields) -> int:
    return max((at + np.dtype(form).itemsize for at, form in fields.values()), default=0)
