"""The block dispatcher: which SM gets which CTA, and when.

CTAs leave in order, one every ``cta_interval_ns``; each goes to the next SM in first-wave order
that has room for it, and its place is free again ``refill_ns`` after its end. A grid that has
the GPU for itself is placed in closed form (`Waves`); grids that meet go through the `Dispatcher`.

On an SM only the first grid in line (by priority, then by arrival) may place CTAs: a grid waits
until all CTAs before it are placed, and a CTA that runs is never stopped. That is how the head
of a queue blocks what is behind it on real GPUs (Amert et al., "GPU scheduling on the NVIDIA TX2",
RTSS 2017). Work of one context waits until no CTA of another runs; time slices are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.clock import Events
from tailwave.gpu.devices.sim.topology import Topology
from tailwave.gpu.devices.sim.work import Footprint, Placement, Work
from tailwave.model import Flags, Floats, Ints


class Grid:
    """A grid on its way through the dispatcher; ``done`` is called with where its CTAs ran."""

    def __init__(  # noqa: PLR0913  a grid is what its launch and its stream say, no less
        self,
        work: Work,
        *,
        ctas: int,
        cluster: int,
        footprint: Footprint,
        allowed: Flags,
        priority: int,
        context: int,
        done: Callable[[Placement], None],
    ) -> None:
        """Take note of what to place; ``allowed`` tells by SM whether the stream may use it."""
        self.work = work
        self.pending = ctas
        self.cluster = cluster
        self.footprint = footprint
        self.allowed = allowed
        self.priority = priority
        self.context = context
        self.done = done
        self._placed: list[Placement] = []

    def place(self, sms: Ints, starts: Floats) -> Placement:
        """Take note of the next CTAs' places; returns them with their ends."""
        placed = Placement(sms, starts, starts + self.work.cta_ns[sms])
        self._placed.append(placed)
        self.pending -= len(sms)
        return placed

    def placement(self) -> Placement:
        """Return where all CTAs ran, once all are placed."""
        return Placement(
            np.concatenate([placed.sm for placed in self._placed]),
            np.concatenate([placed.start for placed in self._placed]),
            np.concatenate([placed.end for placed in self._placed]),
        )


class Dispatcher:
    """Places the CTAs of grids that share the GPU.

    CTAs that are placed together and live equally long form a cohort. Its places are given away
    again as one, when the first is free; a start then waits until the last that the cohort had on
    its SM is free. So times are off by as much as a wave is spread, most often some tens of ns.
    """

    def __init__(self, chip: Chip, topology: Topology, events: Events) -> None:
        """Start with an empty GPU, in context 0."""
        self.context = 0
        self._chip = chip
        self._events = events
        self._order = topology.order
        self._domains = topology.domains
        sms = topology.sm_count
        self._threads = np.full(sms, chip.facts.max_threads_per_sm)
        self._shared = np.full(sms, chip.facts.shared_per_sm)
        self._ctas = np.full(sms, chip.facts.max_ctas_per_sm)
        self._free_from = np.zeros(sms)  # when the place that was given back last is really free
        self._line: list[Grid] = []
        self._resident = 0
        self._next = 0.0  # when the next CTA can leave

    @property
    def idle(self) -> bool:
        """Tell that no CTA runs or waits."""
        return not self._line and self._resident == 0

    def submit(self, grid: Grid) -> None:
        """Put a grid in line and place what has room."""
        self._line.append(grid)
        self._line.sort(key=lambda one: one.priority)  # stable, so by arrival within a priority
        self._fill()

    def enter(self, context: int) -> float:
        """Make a context current on an idle GPU; returns what that takes (ns)."""
        delay = 0.0 if context == self.context else self._chip.contexts.switch_ns
        self.context = context
        return delay

    def _fill(self) -> None:
        """Place all that has room; on each SM only for the first grid in line."""
        if self._line and self._resident == 0:
            self._next = max(self._next, self._events.now) + self.enter(self._line[0].context)
        open_sms = np.ones(len(self._order), dtype=np.bool_)
        for grid in tuple(self._line):
            if grid.context != self.context or not open_sms.any():
                break
            self._place(grid, open_sms & grid.allowed)
            if grid.pending:
                open_sms &= ~grid.allowed

    def _place(self, grid: Grid, usable: Flags) -> None:
        """Place what has room of a grid, each CTA as its turn and its place allow."""
        room = np.where(usable, self._room(grid.footprint), 0)
        sms = self._clusters(grid, room) if grid.cluster > 1 else self._by_turns(grid, room)
        if len(sms) == 0:
            return
        turns = self._chip.dispatch.cta_interval_ns * np.arange(len(sms))
        first = max(self._next, self._events.now)
        waited = np.maximum.accumulate(np.maximum(self._free_from[sms] - turns, first))
        starts = np.asarray(turns + waited)
        self._next = float(starts[-1]) + self._chip.dispatch.cta_interval_ns
        placed = grid.place(sms, starts)
        self._occupy(grid.footprint, sms, 1)
        self._plan_release(grid, placed)
        if grid.pending == 0:
            self._line.remove(grid)
            placement = grid.placement()
            self._events.at(float(placement.end.max()), lambda: grid.done(placement))

    def _room(self, footprint: Footprint) -> Ints:
        """Return how many more such CTAs each SM holds."""
        by_memory = np.minimum(self._threads // footprint.threads, self._shared // footprint.shared)
        return np.asarray(np.minimum(by_memory, self._ctas))

    def _by_turns(self, grid: Grid, room: Ints) -> Ints:
        """Choose SMs for the next CTAs, one of each SM by turns, those free first at first."""
        free = self._free_from[self._order]
        order = self._order[np.argsort(np.maximum(free, self._events.now), kind="stable")]
        rounds = [order[room[order] > taken] for taken in range(int(room.max()))]
        chosen = np.concatenate(rounds) if rounds else order[:0]
        return chosen[: grid.pending]

    def _clusters(self, grid: Grid, room: Ints) -> Ints:
        """Choose SMs for whole clusters, one SM for each CTA, within what a cluster can join."""
        chosen: list[Ints] = []
        left = grid.pending
        for domain in self._domains:
            there = room[domain]
            while left and np.count_nonzero(there) >= grid.cluster:
                places = np.flatnonzero(there)[: grid.cluster]
                there[places] -= 1
                chosen.append(domain[places])
                left -= grid.cluster
        return np.concatenate(chosen) if chosen else self._order[:0]

    def _plan_release(self, grid: Grid, placed: Placement) -> None:
        """Give back the places of each cohort when the first of it is free."""
        lives = grid.work.cta_ns[placed.sm]
        for life in np.unique(lives):
            cohort = lives == life
            sms, free = placed.sm[cohort], placed.end[cohort] + self._chip.dispatch.refill_ns
            self._events.at(float(free.min()), partial(self._release, grid.footprint, sms, free))

    def _release(self, footprint: Footprint, sms: Ints, free: Floats) -> None:
        np.maximum.at(self._free_from, sms, free)
        self._occupy(footprint, sms, -1)
        self._fill()

    def _occupy(self, footprint: Footprint, sms: Ints, ctas: int) -> None:
        counts = ctas * np.bincount(sms, minlength=len(self._ctas))
        self._threads -= counts * footprint.threads
        self._shared -= counts * footprint.shared
        self._ctas -= counts
        self._resident += int(counts.sum())
