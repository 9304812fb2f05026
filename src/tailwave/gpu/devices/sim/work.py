"""What a kernel is to the simulator: how long its CTAs run, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tailwave.model import Floats, Ints


class Placement(msgspec.Struct, frozen=True):
    """Where and when each CTA of a grid ran, in order of ``blockIdx.x``; times in ns."""

    sm: Ints
    start: Floats
    end: Floats


Finish = Callable[[Placement], None]


class Work(msgspec.Struct, frozen=True):
    """A launched kernel: the life of a CTA on each SM (ns), and the writer of its results."""

    cta_ns: Floats
    finish: Finish | None = None
