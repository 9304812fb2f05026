"""What does managed memory cost when the device touches pages that are on the host?

No published figure was found.

The article's advice on unified memory comes without a figure. Small sizes only: more managed memory
than a device has free can hang it.

- ``managed.fault_in``: rate (GB/s) at which a kernel gets through pages that are on the host, one
  fault at a time.
- ``managed.prefetch``: rate at which asking for all pages beforehand moves them.
- ``managed.advised``: as ``fault_in``, after advice that the pages should live on the device.
"""

from __future__ import annotations

from collections.abc import Callable

from tailwave.gpu.devices.base import Feature
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.parts import Part, Probe, Results

_BYTES = 32 << 20
_BYTES_QUICK = 8 << 20


def _faults(lab: Lab) -> Results:
    lab.need(Feature.MANAGED)
    nbytes = _BYTES_QUICK if lab.quick else _BYTES
    with lab.device.managed(nbytes) as memory:

        def touched() -> None:
            memory.touch_on_device(lab.stream)

        def prefetched() -> None:
            memory.prefetch(lab.stream, to_device=True)

        def rate(move: Callable[[], None]) -> float:
            memory.touch_on_host()
            return nbytes / lab.finished_us(move) / 1000

        yield lab.measure("managed.fault_in", "GB/s", lambda: rate(touched))
        yield lab.measure("managed.prefetch", "GB/s", lambda: rate(prefetched))
        memory.advise_preferred_device()
        yield lab.measure("managed.advised", "GB/s", lambda: rate(touched))


PROBE = Probe(
    "managed",
    (Part(("managed.fault_in", "managed.prefetch", "managed.advised"), _faults),),
)
