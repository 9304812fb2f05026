"""The names of what was recorded, spelled as PyTorch's profiler spells them, and their codes.

Rules read meaning out of names ("Memcpy HtoD (Pageable -> Device)"), so one spelling serves all
recorders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from tailwave.model import Ints, SmallInts

# By CUPTI's numbers (CUpti_ActivityMemcpyKind).
_DIRECTIONS: Final = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
# Pages of managed memory that moved, by nsys's numbers beyond those.
MIGRATIONS: Final = {11: "HtoD", 12: "DtoH", 13: "DtoD"}
# Why they did (CUpti_ActivityUnifiedMemoryMigrationCause), but for being touched or near what was.
_MOVED: Final = {1: "managed, prefetched", 4: "managed, evicted"}
# The kinds of memory in the order of their numbers, which CUPTI counts from 1 and nsys from 0.
MEMORY: Final = (
    "Pageable",
    "Pinned",
    "Device",
    "Array",
    "Managed",
    "Device Static",
    "Managed Static",
)
_SYNCS: Final = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
# What torch.autograd.profiler.emit_nvtx adds to an operator's name.
_OPERATOR: Final = re.compile(r", (?:seq|op_id|sizes|seq_id) = .*$", re.DOTALL)
# Numbers up to here are looked up in a table of as many.
_DIRECTLY: Final = 1 << 22


def operator_name(text: str) -> str:
    """Return the name of an operator in an NVTX range's text; any other text as it is."""
    return _OPERATOR.sub("", text)


class Codes:
    """Gives each different name a code, in the order of first use."""

    def __init__(self, memory: Mapping[int, str]) -> None:
        """Take the names of the kinds of memory by the recorder's numbers."""
        self._memory = memory
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names by code."""
        return tuple(self._codes)

    def code(self, name: str) -> int:
        """Return a name's code."""
        clean = name.encode(errors="replace").decode()  # what cannot be written cannot be kept
        return self._codes.setdefault(clean, len(self._codes))

    def of_copies(self, direction: Ints, source: Ints, target: Ints) -> SmallInts:
        """Return the codes of copies, from their direction and the memories at both ends."""
        packed = (direction + 1) << 32 | (source + 1) << 16 | (target + 1)
        return self.named(
            packed,
            lambda one: self._copy((one >> 32) - 1, (one >> 16 & 0xFFFF) - 1, (one & 0xFFFF) - 1),
        )

    def of_migrations(self, direction: Ints, cause: Ints) -> SmallInts:
        """Return the codes of migrations of pages, from their direction and cause."""
        return self.named(
            (direction + 1) << 32 | (cause + 1),
            lambda one: (
                f"Memcpy {MIGRATIONS.get((one >> 32) - 1, 'Unknown')} "
                f"({_MOVED.get((one & 0xFFFFFFFF) - 1, 'managed')})"
            ),
        )

    def of_memsets(self, memory: Ints) -> SmallInts:
        """Return the codes of memsets."""
        return self.named(memory, lambda one: f"Memset ({self._memory.get(one, 'Unknown')})")

    def of_syncs(self, kind: Ints) -> SmallInts:
        """Return the codes of synchronisations, by CUpti_ActivitySynchronizationType."""
        return self.named(kind, lambda one: _SYNCS.get(one, "Sync"))

    def named(self, values: Ints, name: Callable[[int], str]) -> SmallInts:
        """Return the code of each value's name, asking once for each different value."""
        return mapped(values, lambda one: self.code(name(one))).astype(np.int32)

    def _copy(self, direction: int, source: int, target: int) -> str:
        ends = f"{self._memory.get(source, 'Unknown')} -> {self._memory.get(target, 'Unknown')}"
        return f"Memcpy {_DIRECTIONS.get(direction, 'Unknown')} ({ends})"


def mapped(values: Ints, to: Callable[[int], int]) -> Ints:
    """Map each value, asking once for each different one."""
    if len(values) and values.min() >= 0 and values.max() < _DIRECTLY:
        # Small numbers index a table, which spares a sort.
        different = np.flatnonzero(np.bincount(values))
        table = np.zeros(different[-1] + 1, dtype=np.int64)
        table[different] = [to(one) for one in different.tolist()]
        return table[values]
    different, inverse = np.unique(values, return_inverse=True)
    each = np.array([to(one) for one in different.tolist()], dtype=np.int64)
    return each[inverse] if len(values) else np.zeros(0, dtype=np.int64)
