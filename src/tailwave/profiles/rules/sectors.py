"""Sectors of global memory that a kernel's accesses touch, and the fewest that would do.

A sector is 32 bytes, what the L1 and the L2 move at least.
"""

from __future__ import annotations

from tailwave.profiles.rules.kernel import Kernel, MissingCounterError

SECTOR = 32  # bytes
_TOUCHED = "memory_l2_theoretical_sectors_global"
_OPERATIONS = ("ld", "st")
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
_USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
RECORD = tuple(name.format(operation) for operation in _OPERATIONS for name in (_SECTORS, _USED))


def sectors(kernel: Kernel) -> tuple[float, float]:
    """Return the sectors that global accesses touch, and the fewest for the same bytes.

    By instruction where the source's counters were collected, else from the hardware's sectors and
    the bytes used of each.
    """
    touched, fewest = kernel.get(_TOUCHED), kernel.get(f"{_TOUCHED}_ideal")
    if touched is not None and fewest is not None:
        return touched, min(fewest, touched)
    moved = [(kernel.get(_SECTORS.format(o)), kernel.get(_USED.format(o))) for o in _OPERATIONS]
    known = [(all_, used) for all_, used in moved if all_ is not None and (used or not all_)]
    if len(known) < len(_OPERATIONS):
        raise MissingCounterError((f"{_TOUCHED}_ideal", *RECORD))
    total = sum(all_ for all_, _ in known)
    return total, min(sum(all_ * (used or 0.0) / SECTOR for all_, used in known), total)


def used_part(kernel: Kernel) -> float:
    """Return the part of the sectors that coalesced accesses need too; 1 where it is not known."""
    try:
        touched, fewest = sectors(kernel)
    except MissingCounterError:
        return 1.0
    return fewest / touched if touched else 1.0
