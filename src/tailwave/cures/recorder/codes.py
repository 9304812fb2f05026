"""The names of what CUPTI recorded, by its pointers and numbers; C++ names as people write them."""

from __future__ import annotations

import ctypes
import re
from typing import Final

import numpy as np

from tailwave.model import Flags, Ints, SmallInts
from tailwave.recordings import MEMORY, Codes

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

    def of_ranges(self, pointers: Ints) -> SmallInts:
        """Return the codes of NVTX ranges."""
        return self.named(pointers, lambda one: self._texts.get(one) or "range")

    def is_named(self, pointers: Ints) -> Flags:
        """Tell which pointers lead to a string that is not empty."""
        named = [one for one in np.unique(pointers).tolist() if self._texts.get(one)]
        return np.isin(pointers, named)


def demangled(names: list[str]) -> list[str]:
    """Return the names of kernels demangled; as they are where there is no C++ library."""
    try:
        library, free = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None).free
    except OSError:
        return names
    demangle = library["__cxa_demangle"]
    demangle.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    return [_one(demangle, free, name) for name in names]


def _one(demangle: ctypes._NamedFuncPointer, free: ctypes._NamedFuncPointer, name: str) -> str:
    if not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    found = demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    text = ctypes.string_at(found).decode(errors="replace")
    free(found)
    return text
