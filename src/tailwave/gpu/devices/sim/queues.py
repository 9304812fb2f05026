"""What runs one after the other: the operations of a stream, and the transfers of the host link."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from tailwave.gpu.devices.sim.clock import Callback, Events
from tailwave.model import Flags, Ints

# Starts something at the present moment, and calls what it is given once that has finished.
Operation = Callable[[Callback], None]


class Queue:
    """A stream: operations one after the other, on some SMs, at a priority, in a context."""

    def __init__(  # noqa: PLR0913  what a stream is, each said by name
        self,
        events: Events,
        *,
        allowed: Flags,
        order: Ints,
        gap: float,
        priority: int = 0,
        context: int = 0,
    ) -> None:
        """Start empty.

        ``allowed`` tells by SM whether its work may use it, ``order`` names those SMs in
        first-wave order; ``gap`` (ns) passes from the end of an operation to the next start.
        """
        self.allowed = allowed
        self.order = order
        self.sm_count = len(order)
        self.priority = priority
        self.context = context
        self._events = events
        self._gap = gap
        self._rested = events.now  # when the next operation may start
        self._pending: deque[tuple[float, Operation]] = deque()
        self._busy = False

    @property
    def idle(self) -> bool:
        """Tell that all that was queued has finished."""
        return not self._busy and not self._pending

    def push(self, ready: float, operation: Operation) -> None:
        """Queue an operation that cannot start before ``ready`` (ns)."""
        self._pending.append((ready, operation))
        self._events.at(ready, self._next)

    def _next(self) -> None:
        now = self._events.now
        if self._busy or not self._pending or max(self._rested, self._pending[0][0]) > now:
            return
        self._busy = True
        _, operation = self._pending.popleft()
        operation(self._done)

    def _done(self) -> None:
        self._busy = False
        self._rested = self._events.now + self._gap
        self._events.at(self._rested, self._next)


class _Transfer:
    """A transfer under way or waiting: bytes left, bytes per ns when alone, what comes after."""

    def __init__(self, nbytes: float, rate: float, done: Callable[[], None]) -> None:
        self.left = nbytes
        self.rate = rate
        self.done = done


class Link:
    """Two directions, each a queue; while both are busy each has ``both_share`` of its rate."""

    def __init__(self, events: Events, both_share: float) -> None:
        """Start with nothing under way."""
        self._events = events
        self._both_share = both_share
        self._directions: tuple[deque[_Transfer], deque[_Transfer]] = (deque(), deque())
        self._settled = events.now
        self._version = 0  # of the plan; what an older plan had set has no effect

    def transfer(
        self, nbytes: int, rate: float, *, to_device: bool, done: Callable[[], None]
    ) -> None:
        """Move bytes at ``rate`` bytes per ns (that is GB/s), then call ``done``."""
        self._settle()
        self._directions[to_device].append(_Transfer(nbytes, rate, done))
        self._plan()

    def _share(self) -> float:
        return self._both_share if all(self._directions) else 1.0

    def _settle(self) -> None:
        """Take from the transfers under way what has passed since the last change."""
        elapsed = (self._events.now - self._settled) * self._share()
        for direction in self._directions:
            if direction:
                direction[0].left -= elapsed * direction[0].rate
        self._settled = self._events.now

    def _plan(self) -> None:
        """Set the end of each transfer under way, as things are now."""
        self._version += 1
        version, share = self._version, self._share()
        for direction in self._directions:
            if direction:
                end = self._events.now + direction[0].left / (direction[0].rate * share)
                self._events.at(end, partial(self._end, direction, version))

    def _end(self, direction: deque[_Transfer], version: int) -> None:
        if version != self._version:
            return
        self._settle()
        ended = direction.popleft()
        self._plan()
        ended.done()
