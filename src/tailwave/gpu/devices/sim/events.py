"""The event core: a virtual clock and a heap of what is to happen when."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[], None]


class Events:
    """Actions in order of their time (ns); those of one time run in the order they were set."""

    def __init__(self, now: float) -> None:
        """Start the clock at ``now``."""
        self.now = now
        self._heap: list[tuple[float, int, Action]] = []
        self._count = itertools.count()

    def at(self, time: float, action: Action) -> None:
        """Set an action; one that is due already runs next, and the clock does not turn back."""
        heapq.heappush(self._heap, (max(time, self.now), next(self._count), action))

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run actions until ``done``, and none after; raises RuntimeError when none is left."""
        while not done():
            if not self._heap:
                raise RuntimeError("the simulation waits for something that never happens")
            self.now, _, action = heapq.heappop(self._heap)
            action()
