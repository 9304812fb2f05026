"""The names of what CUPTI recorded, by its pointers and numbers."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tailwave.cures.recorder.demangle import demangled
from tailwave.model import Ints, SmallInts
from tailwave.recordings import MEMORY, Codes, operator_name

# CUPTI adds to a call's name the version of CUDA that it came with.
_CALL_VERSION: Final = re.compile(r"(_v\d+)?(_pt(sz|ds))?$")


class Texts(Codes):
    """Gives codes to names, by the pointers and numbers that CUPTI has for them."""

    def __init__(self, texts: dict[int, str]) -> None:
        """Take the recorded strings by their pointers."""
        self._texts = texts
        super().__init__(dict(enumerate(MEMORY, 1)))

    def of_kernels(self, pointers: Ints) -> SmallInts:
        """Return the codes of kernels; of a process that was killed some have no name."""
        different = np.unique(pointers).tolist()
        raw = [self._texts.get(one, f"kernel at {one:#x}") for one in different]
        names = dict(zip(different, demangled(raw), strict=True))
        return self.named(pointers, names.__getitem__)

    def of_calls(self, numbers: Ints, domain: int, calls: dict[str, str]) -> SmallInts:
        """Return the codes of a domain's calls."""
        return self.named(
            numbers,
            lambda one: _CALL_VERSION.sub("", calls.get(f"{domain}:{one}") or f"call {one}"),
        )

    def of_ranges(self, pointers: Ints) -> tuple[SmallInts, Ints]:
        """Return the codes of NVTX ranges, and 1 for each that is an operator's own."""
        names = {one: self._texts.get(one) or "range" for one in np.unique(pointers).tolist()}
        short = {one: operator_name(name) for one, name in names.items()}
        operators = [one for one in names if short[one] != names[one]]
        codes = self.named(pointers, short.__getitem__)
        return codes, np.isin(pointers, operators).astype(np.int64)

    def is_named(self, pointers: Ints) -> Ints:
        """Return 1 for each pointer to a string that is not empty."""
        named = [one for one in np.unique(pointers).tolist() if self._texts.get(one)]
        return np.isin(pointers, named).astype(np.int64)
