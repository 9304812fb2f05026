"""The open partitions of this process: one for each GPU and number of SMs, shared by models.

A partition lives as long as any model holds it. When the last has let go it is closed, unless
memory that was allocated on its stream could still have to be freed there: then it is parked, to
be taken up again by the next model that asks for as many SMs. A parked partition holds no SM; it
is a stream that nobody uses.
"""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple, cast

import tailwave

from . import gpu
from .foreign import Group


class Place(NamedTuple):
    """Which partition is meant: so many SMs of a GPU."""

    gpu: int
    sms: int


class Lease:
    """A model's hold on a partition; it ends when the model is gone, or by ``close``."""

    def __init__(self, pool: Pool, place: Place, group: Group, proved: frozenset[int]) -> None:
        """Hold a group until collected."""
        self.place = place
        self.group = group
        self.proved = proved
        self.close = weakref.finalize(self, pool.release, place)
        # The process takes its partitions with it; the driver may be gone before we are.
        self.close.atexit = False


class _Open:
    """An open partition, what was proved of it and how many leases hold it."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.proved = group.prove()
        self.holders = 0


class Pool:
    """The open partitions."""

    def __init__(self) -> None:
        """Begin with none."""
        # A lease may be collected, and so released, while the same thread is in here.
        self._lock = threading.RLock()
        self._open: dict[Place, _Open] = {}

    def lease(self, place: Place) -> Lease:
        """Hold a partition, opening it where needed; raises tailwave's errors."""
        with self._lock:
            held = self._open.get(place) or self._add(place)
            held.holders += 1
            return Lease(self, place, held.group, held.proved)

    def release(self, place: Place) -> None:
        """Let go once; the last to do so closes or parks the partition."""
        with self._lock:
            held = self._open[place]
            held.holders -= 1
            if held.holders == 0 and gpu.frees_without_stream():
                del self._open[place]
                held.group.close()  # waits for what was enqueued on it
                gpu.give_memory_back()

    def places(self) -> list[Place]:
        """Return what is open, held or parked."""
        with self._lock:
            return list(self._open)

    def _add(self, place: Place) -> _Open:
        """Open a partition and prove it."""
        with gpu.chosen(place.gpu):
            group = cast("Group", tailwave.partition(sms=place.sms))
            try:
                held = _Open(group)
            except BaseException:
                group.close()
                raise
        self._open[place] = held
        return held


POOL = Pool()
