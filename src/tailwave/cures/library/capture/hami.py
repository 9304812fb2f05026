"""Tells whether HAMi's library stands between this process and the driver.

HAMi-core shares a GPU by counting launches in ``libvgpu.so``. A graph's launch counts as one,
whatever it holds, so a graph would take more of the GPU than the process was given.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailwave.errors import GraphRefusedError

_LIBRARY = "libvgpu.so"
PLACES = (Path("/proc/self/maps"), Path("/etc/ld.so.preload"))


def refuse_under_hami() -> None:
    """Raise GraphRefusedError where HAMi limits this process's GPU."""
    if _LIBRARY in os.environ.get("LD_PRELOAD", "") or any(map(_names_it, PLACES)):
        raise GraphRefusedError(
            f"HAMi ({_LIBRARY}) limits this process's share of the GPU, and a graph's launches "
            "escape its count; run plainly here, or on a GPU of its own"
        )


def _names_it(place: Path) -> bool:
    """Tell whether a file names the library."""
    try:
        return _LIBRARY in place.read_text("utf-8", "replace")
    except OSError:
        return False
