"""Runs something in the main thread, from another one, between two of its bytecodes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def run(call: Callable[[], None]) -> None:
    """Have the main thread call, soon; ``call`` must not raise.

    torch records the operations of the thread that started its profiler, so a timer's thread must
    not start it. Python offers this way in C alone (Py_AddPendingCall); it needs no signal, which
    the program might use for itself.
    """

    def pending(_: int | None) -> int:
        call()
        _waiting.remove(callback)
        return 0

    callback = _Pending(pending)
    _waiting.append(callback)
    if ctypes.pythonapi.Py_AddPendingCall(callback, None) != 0:
        _waiting.remove(callback)


_Pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_waiting: list[object] = []  # C keeps no reference to a callback
