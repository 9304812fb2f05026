"""The names of what nsys recorded, spelled as PyTorch's profiler spells them.

Rules read meaning out of names ("Memcpy HtoD (Pageable -> Device)"), so one spelling serves both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from tailwave.model import Flags, Ints, SmallInts
from tailwave.readers.nsys.database import Database

# The kinds of copies, by CUPTI's number (CUpti_ActivityMemcpyKind).
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
    11: "HtoD (managed)",
    12: "DtoH (managed)",
    13: "DtoD (managed)",
}
# The kinds of memory, by nsys's number; an export brings its own list (ENUM_CUDA_MEM_KIND).
_MEMORY: Final = {
    0: "Pageable",
    1: "Pinned",
    2: "Device",
    3: "Array",
    4: "Managed",
    5: "Device Static",
    6: "Managed Static",
}
_SYNCS: Final = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
# nsys adds to a call's name the version of CUDA that it came with.
_CALL_VERSION: Final = re.compile(r"_v\d+$")
# What torch.autograd.profiler.emit_nvtx adds to an operator's name.
_OPERATOR: Final = re.compile(r", (?:seq|op_id|sizes|seq_id) = .*$", re.DOTALL)
# Ids up to here are looked up in a table of as many numbers.
_DIRECTLY: Final = 1 << 22


class Names:
    """Gives each name its code; the names in the order of their codes are ``Timeline.names``."""

    def __init__(self, database: Database) -> None:
        """Read the export's strings."""
        self._strings = database.texts("StringIds", "id", "value")
        self._memory = {**_MEMORY, **database.texts("ENUM_CUDA_MEM_KIND", "id", "label")}
        self._codes: dict[str, int] = {}

    @property
    def all(self) -> tuple[str, ...]:
        """Return the names by code."""
        return tuple(self._codes)

    def code(self, name: str) -> int:
        """Return a name's code."""
        return self._codes.setdefault(name, len(self._codes))

    def of_strings(self, ids: Ints) -> SmallInts:
        """Return the codes of strings by their ids."""
        return self._named(ids, lambda one: self._strings.get(one, "unnamed"))

    def of_calls(self, ids: Ints) -> SmallInts:
        """Return the codes of runtime calls, without the version in their names."""
        return self._named(ids, lambda one: _CALL_VERSION.sub("", self._strings.get(one, "call")))

    def of_copies(self, kind: Ints, source: Ints, target: Ints) -> SmallInts:
        """Return the codes of copies, from their direction and the memories at both ends."""
        packed = (kind + 1) << 32 | (source + 1) << 16 | (target + 1)
        return self._named(
            packed,
            lambda one: self._copy((one >> 32) - 1, (one >> 16 & 0xFFFF) - 1, (one & 0xFFFF) - 1),
        )

    def of_memsets(self, memory: Ints) -> SmallInts:
        """Return the codes of memsets."""
        return self._named(memory, lambda one: f"Memset ({self._memory.get(one, 'Unknown')})")

    def of_syncs(self, kind: Ints) -> SmallInts:
        """Return the codes of synchronisations."""
        return self._named(kind, lambda one: _SYNCS.get(one, "Sync"))

    def of_graphs(self, graph: Ints) -> SmallInts:
        """Return the codes of whole graphs, where nsys recorded no node."""
        return self._named(graph, lambda one: f"CUDA graph {one}" if one >= 0 else "CUDA graph")

    def of_text(self, text: object) -> int:
        """Return what ``of_ranges`` wants for the text of an NVTX range; -1 for none."""
        if not isinstance(text, str):
            return -1
        name = _OPERATOR.sub("", text)
        return self.code(name) << 1 | (name != text)

    def of_ranges(self, texts: Ints, ids: Ints) -> tuple[Ints, Flags]:
        """Return the codes of NVTX ranges, and which are operators.

        A range has its text, or the id of a string that the program registered.
        """
        registered = self._mapped(
            np.where(texts < 0, ids, -1),
            lambda one: self.of_text(self._strings.get(one, "unnamed")),
        )
        both = np.where(texts < 0, registered, texts)
        return both >> 1, (both & 1).astype(bool)

    def string(self, number: int) -> str:
        """Return a string by its id, "" if there is none."""
        return self._strings.get(number, "")

    def _copy(self, kind: int, source: int, target: int) -> str:
        ends = f"{self._memory.get(source, 'Unknown')} -> {self._memory.get(target, 'Unknown')}"
        return f"Memcpy {_DIRECTIONS.get(kind, 'Unknown')} ({ends})"

    def _named(self, values: Ints, named: Callable[[int], str]) -> SmallInts:
        return self._mapped(values, lambda one: self.code(named(one))).astype(np.int32)

    def _mapped(self, values: Ints, mapped: Callable[[int], int]) -> Ints:
        """Map each value, asking once for each different one."""
        if len(values) and values.min() >= 0 and values.max() < _DIRECTLY:
            # Small numbers index a table, which spares a sort.
            different = np.flatnonzero(np.bincount(values))
            table = np.zeros(different[-1] + 1, dtype=np.int64)
            table[different] = [mapped(one) for one in different.tolist()]
            return table[values]
        different, inverse = np.unique(values, return_inverse=True)
        each = np.array([mapped(one) for one in different.tolist()], dtype=np.int64)
        return each[inverse] if len(values) else np.zeros(0, dtype=np.int64)
