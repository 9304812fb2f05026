"""Tells which green context a stream belongs to: the part of a GPU's SMs that it may use."""

from __future__ import annotations

import ctypes
from functools import cache


def green_context(stream: int) -> int:
    """Return the handle of a stream's green context; 0 for none, and before CUDA 12.4."""
    ask = _driver()
    found = ctypes.c_void_p()
    if ask is None or ask(ctypes.c_void_p(stream), ctypes.byref(found)) != 0:
        return 0
    return found.value or 0


@cache
def _driver() -> ctypes._NamedFuncPointer | None:
    """Return the driver's call for it, where there is one."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuStreamGetGreenCtx
    except (OSError, AttributeError):
        return None
