"""What does a shared-memory bank conflict cost, and do the two usual cures work?

Published: 1.94 cycles a way on a B300 (QuickRunCUDA); both cures undo a conflict entirely.

The article tells of 42% "bank conflict rate" from counters that its kernel could not move: it did
no shared-memory access. Here one warp makes dependent accesses at strides that make 1 to 32 of its
threads hit one bank (``gcd(stride, 32)`` ways):

- ``banks.cycles_per_way``: cycles that each further way adds to an access (the slope), for loads
  and stores.
- ``banks.padded``, ``banks.swizzled``: an access at the worst stride with rows padded by a word, or
  with an XOR swizzle, over one without conflict: 1 when the cure works.
"""

from __future__ import annotations

import math
from functools import partial

from tailwave.gpu.devices.base import DeviceFailedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results
from tailwave.stats import slope

_BANKS = 32
_STRIDES = (1, 2, 4, 8, 16, 32)
_ITERATIONS = 512
_LOADS, _STORES, _PADDED, _SWIZZLED = range(4)


def _conflicts(lab: Lab) -> Results:
    for access, mode in (("load", _LOADS), ("store", _STORES)):
        yield lab.measure(
            "banks.cycles_per_way",
            "clk",
            partial(_per_way, lab, mode),
            parameters={"access": access},
            headline=True,
        )


def _per_way(lab: Lab, mode: int) -> float:
    ways = [math.gcd(stride, _BANKS) for stride in _STRIDES]
    return slope(ways, [_cycles(lab, stride, mode) for stride in _STRIDES])[1]


def _cures(lab: Lab) -> Results:
    for name, mode in (("banks.padded", _PADDED), ("banks.swizzled", _SWIZZLED)):
        yield lab.measure(name, "ratio", partial(_cured, lab, mode))


def _cured(lab: Lab, mode: int) -> float:
    return _cycles(lab, _BANKS, mode) / _cycles(lab, 1, _LOADS)


def _cycles(lab: Lab, stride: int, mode: int) -> float:
    """Return the cycles of one access by a warp."""
    cycles = int(lab.output(2, "banks", 1, 32, stride, _ITERATIONS, mode)[1])
    if cycles == 0:
        raise DeviceFailedError("The kernel counted no cycles.")
    return cycles / _ITERATIONS


HEADLINES = {
    "banks.cycles_per_way": Headline(
        "a way of a bank conflict", Better.LESS, "what a badly laid out shared-memory tile costs"
    ),
}
PROBE = Probe(
    "banks",
    (
        Part(("banks.cycles_per_way",), _conflicts),
        Part(("banks.padded", "banks.swizzled"), _cures),
    ),
    HEADLINES,
)
