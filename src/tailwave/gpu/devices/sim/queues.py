"""The GPU's side of a stream: operations that run one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from tailwave.gpu.devices.sim.events import Action, Events
from tailwave.model import Flags, Ints

# Starts something at the present moment, and calls what it is given once that has finished.
Operation = Callable[[Action], None]


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
