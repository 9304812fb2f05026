"""What an nsys export says beside its rows: what nsys noted of itself, faults of the host."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tailwave.recordings.readers.nsys.database import Database
from tailwave.recordings.readers.nsys.tables import pid_of, process_of

_DIAGNOSTICS: Final = "DIAGNOSTIC_EVENT"
_HOST_FAULTS: Final = "CUDA_UM_CPU_PAGE_FAULT_EVENTS"
_COUNTED: Final = f'SELECT globalPid, COUNT(*) FROM "{_HOST_FAULTS}" GROUP BY globalPid'  # noqa: S608 - names of this file
# ENUM_DIAGNOSTIC_SEVERITY_LEVEL: warnings and errors.
_DOUBTS: Final = (2, 3)
_OF_THE_GPU: Final = re.compile(r"CUDA|CUPTI|GPU|driver", re.IGNORECASE)
_COUNT: Final = re.compile(r"Number of ((?:CUPTI|CUDA) events \w+): (\d+)")
_LONGEST: Final = 240


def quotes(database: Database, process: int | None = None) -> tuple[str, ...]:
    """Return what nsys noted of its recording of the GPU, of one process or of all; or nothing."""
    counts: dict[str, None] = {}
    doubts: dict[str, None] = {}
    for severity, text, owner in database.rows(_DIAGNOSTICS, ("severity", "text", "globalPid")):
        if process is not None and _owner(owner) not in (process, None):
            continue
        said = " ".join(str(text).split())
        if match := _COUNT.match(said):
            counts[f"{match[2]} {match[1]}"] = None
        elif severity in _DOUBTS and _OF_THE_GPU.search(said):
            doubts[f'"{said[:_LONGEST]}"'] = None
    # What was produced, before what was left of it.
    said = "; ".join(filter(None, (", ".join(sorted(counts, key=_by_stage)), *doubts)))
    return (f"nsys itself noted: {said}.",) if said else ()


def _by_stage(count: str) -> bool:
    return "produced" not in count


def _owner(global_id: object) -> int | None:
    """Return the process that something is of; None where it is of no program."""
    process = int(process_of(np.array(global_id))) if isinstance(global_id, int) else -1
    return process if pid_of(process) > 0 else None


def host_faults(database: Database, process: int) -> tuple[str, ...]:
    """Say how often the host touched pages that were elsewhere: faults have no duration."""
    counted = database.asked(_HOST_FAULTS, ("globalPid",), _COUNTED)
    times = sum(int(str(count)) for owner, count in counted if _owner(owner) == process)
    if not times:
        return ()
    often = "once" if times == 1 else f"{times:,} times"
    note = (
        f"The host touched pages of managed memory that were elsewhere {often}; what that cost it "
        "is not recorded."
    )
    return (note,)
