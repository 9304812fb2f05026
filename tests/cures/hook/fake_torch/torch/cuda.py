"""A GPU whose clock moves on by a millisecond with each event, and that is never behind."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

_queued: list[Callable[[], None]] = []
_up = [False]
_clock = [0.0]
available = [True]
current: list[Stream] = []


def _lazy_call(call: Callable[[], None]) -> None:
    if _up[0]:
        call()
    else:
        _queued.append(call)


def init() -> None:
    """Start."""
    for call in _queued:
        call()
    _up[0] = True


def is_initialized() -> bool:
    """Tell whether it has started."""
    return _up[0]


def is_available() -> bool:
    """Tell whether there is one."""
    return available[0]


def synchronize() -> None:
    """Wait for nothing."""


def is_current_stream_capturing() -> bool:
    """No."""
    return False


def current_device() -> int:
    """Return the only one."""
    return 0


def device_count() -> int:
    """Return how many there are."""
    return 1


def get_device_properties(_: int) -> SimpleNamespace:
    """Return an H200's number of SMs."""
    return SimpleNamespace(multi_processor_count=132)


def get_allocator_backend() -> str:
    """Return torch's default."""
    return "native"


def memory_snapshot() -> list[dict[str, object]]:
    """Return no segment."""
    return []


class Event:
    """A time."""

    def __init__(self, *, enable_timing: bool) -> None:
        """Make one that has not been recorded."""
        assert enable_timing

    def record(self) -> None:
        """Take the time."""
        _clock[0] += 1.0
        self.time = _clock[0]

    def query(self) -> bool:
        """Say that the GPU has passed it."""
        return True

    def synchronize(self) -> None:
        """Wait for nothing."""

    def elapsed_time(self, other: Event) -> float:
        """Return milliseconds."""
        return other.time - self.time


class Stream:
    """A stream with a priority."""

    def __init__(self, device: int, priority: int) -> None:
        """Make one."""
        self.device, self.priority = device, priority


def set_stream(stream: Stream) -> None:
    """Make a stream the current one."""
    current.append(stream)
