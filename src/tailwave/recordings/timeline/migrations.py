"""Pages of managed memory on the move: rows of the GPU table that nobody launched.

They are no work of the program's: they move because a kernel or the host touched them, and their
time lies within that of the kernel or the host.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tailwave.model import Flags, GpuKind, Ints, Timeline
from tailwave.recordings.timeline.calls import why_moved


def migrations(timeline: Timeline, why: str = "") -> Flags:
    """Tell which GPU rows are pages on the move, or page faults; ``why`` narrows it."""
    gpu = timeline.gpu
    copied = np.asarray(gpu.kind == GpuKind.MEMCPY, dtype=bool)
    used = np.unique(gpu.name[copied])
    moved = [why_moved(timeline.names[code]) for code in used.tolist()]
    wanted = [cause == why if why else cause != "" for cause in moved]
    return copied & np.isin(gpu.name, used[np.array(wanted, dtype=bool)])


def launched(timeline: Timeline) -> tuple[Timeline, Ints]:
    """Return a timeline of the program's own GPU work, and which rows of the table those are."""
    gpu, kept = timeline.gpu, np.flatnonzero(~migrations(timeline))
    if len(kept) == len(gpu):
        return timeline, kept
    own = {field: getattr(gpu, field)[kept] for field in gpu.__struct_fields__}
    return replace(timeline, gpu=replace(gpu, **own)), kept
