"""The names of what nsys recorded, spelled as PyTorch's profiler spells them.

Rules read meaning out of names ("Memcpy HtoD (Pageable -> Device)"), so one spelling serves both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tailwave.model import Ints, SmallInts
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
_MEMORY: Final = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
_SYNCS: Final = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
# nsys adds to a call's name the version of CUDA that it came with.
_CALL_VERSION: Final = re.compile(r"_v\d+$")
# What torch.autograd.profiler.emit_nvtx adds to an operator's name.
_OPERATOR: Final = re.compile(r", (?:seq|op_id|sizes|seq_id) = .*$", re.DOTALL)


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

    def of_strings(self, *ids: Ints) -> SmallInts:
        """Return the codes of strings by the first of their ids that there is."""
        known = [np.isin(column, list(self._strings)) for column in ids]
        chosen = np.select(known, list(ids), default=-1)
        return self._mapped(chosen, lambda one: self._strings.get(one, "unnamed"))

    def of_calls(self, ids: Ints) -> SmallInts:
        """Return the codes of runtime calls, without the version in their names."""
        return self._mapped(ids, lambda one: _CALL_VERSION.sub("", self._strings.get(one, "call")))

    def of_copies(self, kind: Ints, source: Ints, target: Ints) -> SmallInts:
        """Return the codes of copies, from their direction and the memories at both ends."""
        packed = (kind + 1) << 32 | (source + 1) << 16 | (target + 1)
        return self._mapped(
            packed,
            lambda one: self._copy((one >> 32) - 1, (one >> 16 & 0xFFFF) - 1, (one & 0xFFFF) - 1),
        )

    def of_memsets(self, memory: Ints) -> SmallInts:
        """Return the codes of memsets."""
        return self._mapped(memory, lambda one: f"Memset ({self._memory.get(one, 'Unknown')})")

    def of_syncs(self, kind: Ints) -> SmallInts:
        """Return the codes of synchronisations."""
        return self._mapped(kind, lambda one: _SYNCS.get(one, "Sync"))

    def of_graphs(self, graph: Ints) -> SmallInts:
        """Return the codes of whole graphs, where nsys recorded no node."""
        return self._mapped(graph, lambda one: f"CUDA graph {one}" if one >= 0 else "CUDA graph")

    def of_ranges(self, texts: Sequence[object], ids: Ints) -> tuple[SmallInts, Ints]:
        """Return the codes of NVTX ranges, and 1 for each that is an operator's own."""
        codes = np.zeros(len(ids), dtype=np.int32)
        operators = np.zeros(len(ids), dtype=np.int64)
        for i, (text, number) in enumerate(zip(texts, ids.tolist(), strict=True)):
            name = text if isinstance(text, str) else self._strings.get(number, "unnamed")
            short = _OPERATOR.sub("", name)
            operators[i] = short != name
            codes[i] = self.code(short.encode(errors="replace").decode())
        return codes, operators

    def string(self, number: int) -> str:
        """Return a string by its id, "" if there is none."""
        return self._strings.get(number, "")

    def _copy(self, kind: int, source: int, target: int) -> str:
        ends = f"{self._memory.get(source, 'Unknown')} -> {self._memory.get(target, 'Unknown')}"
        return f"Memcpy {_DIRECTIONS.get(kind, 'Unknown')} ({ends})"

    def _mapped(self, values: Ints, named: Callable[[int], str]) -> SmallInts:
        different, inverse = np.unique(values, return_inverse=True)
        codes = np.array([self.code(named(one)) for one in different.tolist()], dtype=np.int32)
        return codes[inverse] if len(values) else np.zeros(0, dtype=np.int32)
