"""CUPTI's activity interface through ctypes: what the recorder calls, under its own names."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

# CUpti_ActivityKind and others of cupti_activity.h and cupti_callbacks.h.
KINDS = {
    "memcpy": 1,
    "memset": 2,
    "driver": 4,
    "runtime": 5,
    "device": 8,
    "kernel": 10,
    "marker": 12,
    "memcpy-peer": 22,
    "event": 36,
    "sync": 38,
}
# Those of a timeline: all but the device's own.
ACTIVITIES = tuple(kind for kind in KINDS if kind != "device")
DRIVER, RUNTIME = 1, 2  # callback domains
# Of some 1,300 calls those that launch, copy, wait, allocate and order; the others are switched
# off, for each call recorded costs the thread that makes it, and a launch of PyTorch's comes with
# seven that only ask for the device, the last error and the like. Switching on these alone, without
# their kinds, is not enough: beside the other activities CUPTI 13.0 then leaves out the driver's
# calls within the runtime's.
_RECORDED = re.compile(
    r"cu(da)?(Launch|GraphLaunch|GraphInstantiate|Memcpy|Memset|\w+Synchronize|EventRecord"
    r"|StreamWait|Malloc|Free|HostAlloc|MemAlloc|MemFree|MemHost|MemPrefetch|ModuleLoad"
    r"|LibraryLoad)"
)
_FLUSH_FORCED = 1
_SYSTEM_THREAD_IDS = 1
_PER_THREAD_BUFFERS = 9
_MOST_CALLS = 4096  # no domain has as many

_Requested = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
)
_Completed = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


class Cupti:
    """The functions used; each raises OSError with CUPTI's own reason when it refuses."""

    def __init__(self, path: Path) -> None:
        """Open the library; raises OSError where that fails."""
        self.path = path
        self._library = ctypes.CDLL(str(path))
        self._callbacks: tuple[Any, ...] = ()

    def version(self) -> int:
        """Return the interface's version, 130000 for that of CUDA 13.0."""
        version = ctypes.c_uint32()
        self._call("cuptiGetVersion", ctypes.byref(version))
        return version.value

    def now(self) -> int:
        """Return the time on the clock of the records (ns)."""
        time = ctypes.c_uint64()
        self._library.cuptiGetTimestamp(ctypes.byref(time))
        return time.value

    def hand_buffers(
        self, give: Callable[[], tuple[int, int]], take: Callable[[int, int], None]
    ) -> None:
        """Have CUPTI ask ``give`` for buffers (address, size) and return them to ``take``.

        Both may be called in any thread of the program. ``take`` gets the address, and how many
        bytes hold records.
        """

        def requested(buffer: Any, size: Any, most: Any) -> None:  # noqa: ANN401 - C's pointers
            buffer[0], size[0] = give()
            most[0] = 0  # as many records as fit

        def completed(context: int, stream: int, buffer: int, size: int, valid: int) -> None:
            del context, stream, size
            take(buffer, valid)

        self._callbacks = (_Requested(requested), _Completed(completed))
        self._call("cuptiActivityRegisterCallbacks", *self._callbacks)

    def set_up(self) -> None:
        """Have threads named by the system's ids, and give each a buffer of its own if possible."""
        self._call("cuptiSetThreadIdType", _SYSTEM_THREAD_IDS)
        value, size = ctypes.c_uint8(1), ctypes.c_size_t(1)
        self._library.cuptiActivitySetAttribute(
            _PER_THREAD_BUFFERS, ctypes.byref(size), ctypes.byref(value)
        )

    def enable(self, kind: int) -> None:
        """Record a kind of activity."""
        self._call("cuptiActivityEnable", kind)

    def switch_call(self, domain: int, number: int, *, on: bool) -> None:
        """Record one of the runtime's or the driver's calls, or do not, after their kind is on.

        Before CUPTI 12.5 all calls of an enabled kind are recorded.
        """
        function = getattr(self._library, _SWITCHES[domain], None)
        if function is not None:
            function(number, ctypes.c_uint8(on))

    def call_name(self, domain: int, number: int) -> str:
        """Return a call's name, "" for a number that is none."""
        name = ctypes.c_char_p()
        code = self._library.cuptiGetCallbackName(domain, number, ctypes.byref(name))
        return (name.value or b"").decode(errors="replace") if code == 0 else ""

    def calls(self, domain: int) -> dict[int, str]:
        """Return all calls of a domain by number."""
        named = ((number, self.call_name(domain, number)) for number in range(1, _MOST_CALLS))
        return {number: name for number, name in named if name and name != "INVALID"}

    def switch_on(self) -> None:
        """Record the activities, and of the calls those that a timeline is made of."""
        for kind in ACTIVITIES:
            self.enable(KINDS[kind])
        for domain in (RUNTIME, DRIVER):
            for number, name in self.calls(domain).items():
                if not is_recorded(name):
                    self.switch_call(domain, number, on=False)

    def flush_each(self, milliseconds: int) -> None:
        """Hand over what is complete this often, full or not."""
        self._call("cuptiActivityFlushPeriod", milliseconds)

    def flush(self) -> None:
        """Hand over all buffers, with what is not complete too."""
        self._call("cuptiActivityFlushAll", _FLUSH_FORCED)

    def dropped(self) -> int:
        """Return how many records were lost since this was last asked."""
        count = ctypes.c_size_t()
        self._call("cuptiActivityGetNumDroppedRecords", None, 0, ctypes.byref(count))
        return count.value

    def next_record(self, buffer: int, valid: int, record: int) -> int:
        """Return the address of the record behind this one (0 for the first), 0 for none."""
        found = ctypes.c_void_p(record or None)
        code = self._library.cuptiActivityGetNextRecord(
            ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(found)
        )
        return (found.value or 0) if code == 0 else 0

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError as error:
            raise OSError(f"CUPTI has no {name}: it is too old") from error
        code = function(*arguments)
        if code != 0:
            raise OSError(f"CUPTI refused {name}: {self._reason(code)}")

    def _reason(self, code: int) -> str:
        text = ctypes.c_char_p()
        self._library.cuptiGetResultString(code, ctypes.byref(text))
        return (text.value or b"error").decode(errors="replace") + f" ({code})"


def is_recorded(call: str) -> bool:
    """Tell whether a call of the runtime or the driver is one that a timeline is made of."""
    return _RECORDED.match(call) is not None


_SWITCHES = {RUNTIME: "cuptiActivityEnableRuntimeApi", DRIVER: "cuptiActivityEnableDriverApi"}
