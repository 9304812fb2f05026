"""The names of what was recorded, spelled as PyTorch's profiler spells them, and their codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from tailwave.model import Ints, SmallInts
from tailwave.recorder.demangle import demangled

# By CUPTI's numbers (CUpti_ActivityMemcpyKind, MemoryKind, SynchronizationType).
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
_MEMORY: Final = {
    1: "Pageable",
    2: "Pinned",
    3: "Device",
    4: "Array",
    5: "Managed",
    6: "Device Static",
    7: "Managed Static",
}
_SYNCS: Final = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
# CUPTI adds to a call's name the version of CUDA that it came with.
_CALL_VERSION: Final = re.compile(r"(_v\d+)?(_pt(sz|ds))?$")
# What torch.autograd.profiler.emit_nvtx adds to an operator's name.
_OPERATOR: Final = re.compile(r", (?:seq|op_id|sizes|seq_id) = .*$", re.DOTALL)


class Codes:
    """Gives each different name a code, in the order of first use."""

    def __init__(self, texts: dict[int, str]) -> None:
        """Take the recorded strings by their pointers."""
        self._texts = texts
        self._codes: dict[str, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names by code."""
        return tuple(self._codes)

    def code(self, name: str) -> int:
        """Return a name's code."""
        clean = name.encode(errors="replace").decode()  # what cannot be written cannot be kept
        return self._codes.setdefault(clean, len(self._codes))

    def of_kernels(self, pointers: Ints) -> SmallInts:
        """Return the codes of kernels; of a process that was killed some have no name."""
        different = np.unique(pointers).tolist()
        raw = [self._texts.get(one, f"kernel at {one:#x}") for one in different]
        names = dict(zip(different, demangled(raw), strict=True))
        return self._mapped(pointers, names.__getitem__)

    def of_calls(self, numbers: Ints, domain: int, calls: dict[str, str]) -> SmallInts:
        """Return the codes of a domain's calls."""
        return self._mapped(
            numbers,
            lambda one: _CALL_VERSION.sub("", calls.get(f"{domain}:{one}") or f"call {one}"),
        )

    def of_copies(self, direction: Ints, source: Ints, target: Ints) -> SmallInts:
        """Return the codes of copies, from their direction and the memories at both ends."""
        packed = direction << 16 | source << 8 | target
        return self._mapped(packed, lambda one: _copy(one >> 16, one >> 8 & 0xFF, one & 0xFF))

    def of_memsets(self, memory: Ints) -> SmallInts:
        """Return the codes of memsets."""
        return self._mapped(memory, lambda one: f"Memset ({_MEMORY.get(one, 'Unknown')})")

    def of_syncs(self, kind: Ints) -> SmallInts:
        """Return the codes of synchronisations."""
        return self._mapped(kind, lambda one: _SYNCS.get(one, "Sync"))

    def of_ranges(self, pointers: Ints) -> tuple[SmallInts, Ints]:
        """Return the codes of NVTX ranges, and 1 for each that is an operator's own."""
        names = {one: self._texts.get(one) or "range" for one in np.unique(pointers).tolist()}
        short = {one: _OPERATOR.sub("", name) for one, name in names.items()}
        operators = [one for one in names if short[one] != names[one]]
        codes = self._mapped(pointers, short.__getitem__)
        return codes, np.isin(pointers, operators).astype(np.int64)

    def is_named(self, pointers: Ints) -> Ints:
        """Return 1 for each pointer to a string that is not empty."""
        named = [one for one in np.unique(pointers).tolist() if self._texts.get(one)]
        return np.isin(pointers, named).astype(np.int64)

    def _mapped(self, values: Ints, named: Callable[[int], str]) -> SmallInts:
        different, inverse = np.unique(values, return_inverse=True)
        codes = np.array([self.code(named(one)) for one in different.tolist()], dtype=np.int32)
        return codes[inverse] if len(values) else np.zeros(0, dtype=np.int32)


def _copy(direction: int, source: int, target: int) -> str:
    ends = f"{_MEMORY.get(source, 'Unknown')} -> {_MEMORY.get(target, 'Unknown')}"
    return f"Memcpy {_DIRECTIONS.get(direction, 'Unknown')} ({ends})"
