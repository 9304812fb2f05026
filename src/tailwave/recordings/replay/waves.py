"""How a kernel's time changes with the number of SMs.

Three regimes. *By waves*: CTAs of a wave run side by side, so the time goes with the number of
waves. *Persistent*: library kernels that launch one CTA per SM and share out the work take a time
in inverse proportion to the SMs. *Unaffected*: copies, memsets, collectives, and grids that leave
SMs idle on either chip.

A kernel bound by memory would be unaffected too, as long as fewer SMs still saturate memory; but
on an H200 a softmax over 2 GB slowed down from the first SM taken away (6% for 9% of the SMs, by
half for half), so no such plateau is assumed.
"""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tailwave.model import Bytes, Floats


class Regime(enum.IntEnum):
    """What a kernel's time depends on when the number of SMs changes."""

    UNAFFECTED = 0
    WAVES = 1
    PERSISTENT = 2


class Scaling(msgspec.Struct, frozen=True):
    """How many times longer each kernel takes, and why."""

    factor: Floats
    regime: Bytes

    def count(self, regime: Regime) -> int:
        """Return how many kernels are of a regime."""
        return int((self.regime == regime).sum())


def scaling(grid: Floats, ctas_per_sm: Floats, persistent: Bytes, have: int, count: int) -> Scaling:
    """Scale kernels from a chip of ``have`` SMs to one of ``count``.

    ``grid`` is CTAs per kernel, ``ctas_per_sm`` how many fit an SM; both NaN where unknown, and
    for what is no kernel. ``persistent`` tells which kernels size themselves to the chip; only
    those that fill no more than one wave do.
    """
    known = np.isfinite(grid) & np.isfinite(ctas_per_sm)
    per_sm = np.where(known, ctas_per_sm, 1.0)
    ctas = np.where(known, grid, 1.0)
    by_waves = np.ceil(ctas / (per_sm * count)) / np.ceil(ctas / (per_sm * have))
    sized = known & (persistent > 0) & (ctas <= have * per_sm)
    used, grows = np.minimum(ctas, have), ctas >= have
    reachable = np.where(grows, count, np.minimum(used, count))
    factor = np.where(sized, used / np.maximum(reachable, 1), np.where(known, by_waves, 1.0))
    regime = np.where(sized, Regime.PERSISTENT, Regime.WAVES)
    regime = np.where(factor == 1.0, Regime.UNAFFECTED, regime)
    return Scaling(factor, regime.astype(np.uint8))
