"""Does HAMi share this GPU? Its library then stands between a program and the driver.

HAMi-core grants a share of the GPU by counting launches in ``libvgpu.so``. A graph's launch counts
as one, whatever it holds, so a graph would take more of the GPU than the program was given; and
times say what HAMi grants, not what the program takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

LIBRARY: Final = "libvgpu.so"
# Where a library is named that the loader puts into every program, or has put into this one.
PLACES: Final = (Path("/etc/ld.so.preload"), Path("/proc/self/maps"))


def shares_the_gpu(environment: Mapping[str, str], places: Iterable[Path] = PLACES) -> bool:
    """Tell whether HAMi's library limits a program with this environment."""
    return LIBRARY in environment.get("LD_PRELOAD", "") or any(map(_names_it, places))


def _names_it(place: Path) -> bool:
    try:
        return LIBRARY in place.read_text("utf-8", "replace")
    except OSError:
        return False
