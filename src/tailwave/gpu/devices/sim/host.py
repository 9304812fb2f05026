"""The host's virtual clock: what its calls cost, with their jitter."""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip


class Host:
    """A host thread's clock, in ns; it never turns back."""

    def __init__(self, chip: Chip) -> None:
        """Start with the GPU's clock."""
        self.now = float(chip.clock.start_ns)
        self._launch = chip.launch
        self._rng = np.random.default_rng(chip.seed + 2)

    def pay(self, ns: float) -> None:
        """Spend the time of a call."""
        self.now += ns * float(self._rng.lognormal(0.0, self._launch.jitter))

    def wait_until(self, ns: float) -> None:
        """Sleep until the GPU has finished, and wake up; now and then the host is late."""
        if ns <= self.now:
            self.pay(self._launch.idle_sync_ns)
            return
        self.now = ns
        self.pay(self._launch.sync_ns)
        if self._rng.random() < self._launch.stall_chance:
            self.now += float(self._rng.exponential(self._launch.stall_ns))
