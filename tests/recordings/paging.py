"""Recordings by hand in which pages of managed memory move."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tailwave.model import Timeline
from tests.builders import Trace

TO_GPU, TO_HOST = "Memcpy HtoD (managed)", "Memcpy DtoH (managed)"
FAULTS = "GPU page faults (managed)"
# On an H200 the link moves 55 GB/s: these bytes in 10 us.
SIZE = 550_000


def nsys(timeline: Timeline) -> Timeline:
    """Return the recording as nsys's, whose cost is not taken off."""
    return replace(timeline, kind="nsys")


def marked(length: float, body: Callable[[Trace], object]) -> Timeline:
    """Record four marked steps (us), and nothing before them."""
    trace = Trace()
    for number in range(4):
        body(trace.at(number * length).step(0, length, number))
    return nsys(trace.build())
