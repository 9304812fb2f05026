"""What a kernel is to the simulator: what its CTAs take, how long they run, what they leave."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tailwave.gpu.devices.sim.chip import Chip, DispatchCosts
from tailwave.model import Floats, Ints

WARP = 32


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


class Footprint:
    """What one CTA takes of its SM."""

    def __init__(self, chip: Chip, block: int, shared: int) -> None:
        """Reckon threads in whole warps, and shared memory with what the system keeps."""
        self.threads = -(-block // WARP) * WARP
        self.shared = shared + chip.dispatch.reserved_shared

    def per_sm(self, chip: Chip) -> int:
        """Return how many such CTAs an SM holds."""
        facts = chip.facts
        return min(
            facts.max_threads_per_sm // self.threads,
            facts.shared_per_sm // self.shared,
            facts.max_ctas_per_sm,
        )


class Waves:
    """A grid that has the GPU for itself, in closed form.

    CTAs that all live equally long follow each other in each place at a fixed interval, so any
    number of waves can be told; CTAs that differ, one wave.
    """

    def __init__(
        self, costs: DispatchCosts, ctas: int, order: Ints, per_sm: int, cta_ns: Floats
    ) -> None:
        """Take ``per_sm`` places on each SM of ``order``; ``cta_ns`` is a CTA's life by SM."""
        self._costs = costs
        self._ctas = ctas
        self._order = order
        self._places = len(order) * per_sm
        self._cta_ns = cta_ns

    @property
    def holds(self) -> bool:
        """Tell whether the closed form is right."""
        return self._ctas <= self._places or bool(np.ptp(self._cta_ns[self._order]) == 0)

    def length(self) -> float:
        """Return the time from the start of the grid to the end of its last CTA (ns)."""
        lives = self._cta_ns[self._order[: self._ctas]]
        if np.ptp(lives) > 0:
            return float(self.placement(0.0).end.max())
        waves, place = divmod(self._ctas - 1, self._places)
        life = float(lives[0])
        return waves * self._period(life) + place * self._costs.cta_interval_ns + life

    def placement(self, start: float) -> Placement:
        """Return where and when each CTA runs."""
        sm = np.resize(self._order, self._ctas)
        life = self._cta_ns[sm]
        wave, place = np.divmod(np.arange(self._ctas), self._places)
        starts = start + place * self._costs.cta_interval_ns + wave * self._period(float(life[0]))
        return Placement(sm, starts, starts + life)

    def _period(self, life: float) -> float:
        """Return the time between waves: a CTA's own, or that of handing out a whole wave."""
        handing_out = self._places * self._costs.cta_interval_ns
        return max(life + self._costs.refill_ns, handing_out)
