"""Virtual time: the event core, a clock and a heap of what is to happen when; the host's clock."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip

Callback = Callable[[], None]


class Events:
    """Actions in order of their time (ns); those of one time run in the order they were set."""

    def __init__(self, now: float) -> None:
        """Start the clock at ``now``."""
        self.now = now
        self._heap: list[tuple[float, int, Callback]] = []
        self._count = itertools.count()

    def at(self, time: float, action: Callback) -> None:
        """Set an action; one that is due already runs next, and the clock does not turn back."""
        heapq.heappush(self._heap, (max(time, self.now), next(self._count), action))

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run actions until ``done``, and none after; raises RuntimeError when none is left."""
        while not done():
            if not self._heap:
                raise RuntimeError("the simulation waits for something that never happens")
            self.now, _, action = heapq.heappop(self._heap)
            action()


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
