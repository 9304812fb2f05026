"""C++ names as people write them, by the C++ library that every Linux has."""

from __future__ import annotations

import ctypes


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
