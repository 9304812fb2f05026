"""The block dispatcher: which SM gets which CTA, and when.

CTAs leave in order, one every ``cta_interval_ns``; each goes to the next SM in first-wave order
that has room for it, and its place is free again ``refill_ns`` after its end. A grid that has
the GPU for itself is placed in closed form (`place_alone`); grids that meet are placed CTA by CTA
(`Dispatcher`).

On an SM only the first grid in line (by priority, then by arrival) may place CTAs: a grid waits
until all CTAs before it are placed, and a CTA that runs is never stopped. That is how the head
of a queue blocks what is behind it on real GPUs (Amert et al., "GPU scheduling on the NVIDIA TX2",
RTSS 2017). Work of one context waits until no CTA of another runs; time slices are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tailwave.devices.sim.chip import Chip, DispatchCosts
from tailwave.devices.sim.events import Events
from tailwave.devices.sim.topology import Topology
from tailwave.devices.sim.work import Placement, Work
from tailwave.model import Flags, Floats, Ints

WARP = 32


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


def place_alone(
    costs: DispatchCosts, ctas: int, slots: Ints, cta_ns: Floats, start: float
) -> Placement | None:
    """Place a grid that has the GPU for itself.

    ``slots`` are the SMs of the places for CTAs in first-wave order, ``cta_ns`` the life of a CTA
    by SM. Returns None when there is more than one wave of CTAs that differ: that needs events.
    """
    sm = np.resize(slots, ctas)
    life = cta_ns[sm]
    wave, place = np.divmod(np.arange(ctas), len(slots))
    if ctas > len(slots) and np.ptp(life) > 0:
        return None
    period = max(float(life[0]) + costs.refill_ns, len(slots) * costs.cta_interval_ns)
    starts = start + place * costs.cta_interval_ns + wave * period
    return Placement(sm, starts, starts + life)


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
        self.sms: list[int] = []
        self.starts: list[float] = []

    def placement(self) -> Placement:
        """Return where the CTAs ran, once all are placed."""
        sm, start = np.array(self.sms), np.array(self.starts)
        return Placement(sm, start, start + self.work.cta_ns[sm])


class Dispatcher:
    """Places the CTAs of grids that share the GPU."""

    def __init__(self, chip: Chip, topology: Topology, events: Events) -> None:
        """Start with an empty GPU, in context 0."""
        self.context = 0
        self._chip = chip
        self._events = events
        self._order = topology.order.tolist()
        self._domain = {
            sm: domain.tolist() for domain in topology.domains for sm in domain.tolist()
        }
        self._threads = [chip.facts.max_threads_per_sm] * topology.sm_count
        self._shared = [chip.facts.shared_per_sm] * topology.sm_count
        self._ctas = [chip.facts.max_ctas_per_sm] * topology.sm_count
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
        self._fill(self._order)

    def enter(self, context: int) -> float:
        """Make a context current on an idle GPU; returns what that takes (ns)."""
        delay = 0.0 if context == self.context else self._chip.contexts.switch_ns
        self.context = context
        return delay

    def _fill(self, sms: Iterable[int]) -> None:
        """Place CTAs on SMs by turns, one at a time, as long as one has room."""
        if self._line and self._resident == 0:
            self._next = max(self._next, self._events.now) + self.enter(self._line[0].context)
        waiting = len(self._line)
        candidates = list(sms)
        while candidates:
            candidates = [sm for sm in candidates if self._place_next(sm)]
        if len(self._line) < waiting:
            self._fill(self._order)  # those next in line may use SMs that were held back

    def _place_next(self, sm: int) -> bool:
        """Place the next CTA, or cluster, of the first grid in line for an SM, if there is room."""
        grid = next((one for one in self._line if one.allowed[sm]), None)
        if grid is None or grid.context != self.context:
            return False
        chosen = self._places(grid, sm)
        if not chosen:
            return False
        for one in chosen:
            self._place(grid, one)
        if grid.pending == 0:
            self._line.remove(grid)
            placement = grid.placement()
            self._events.at(float(placement.end.max()), lambda: grid.done(placement))
        return True

    def _has_room(self, footprint: Footprint, sm: int) -> bool:
        return (
            self._threads[sm] >= footprint.threads
            and self._shared[sm] >= footprint.shared
            and self._ctas[sm] > 0
        )

    def _places(self, grid: Grid, sm: int) -> list[int]:
        """Choose a CTA's SM, or one for each CTA of a cluster about ``sm``; empty for no room."""
        if grid.cluster == 1:
            return [sm] if self._has_room(grid.footprint, sm) else []
        allowed = [one for one in self._domain[sm] if grid.allowed[one]]
        room = [one for one in allowed if self._has_room(grid.footprint, one)]
        return room[: grid.cluster] if len(room) >= grid.cluster else []

    def _place(self, grid: Grid, sm: int) -> None:
        start = max(self._next, self._events.now)
        self._next = start + self._chip.dispatch.cta_interval_ns
        grid.sms.append(sm)
        grid.starts.append(start)
        grid.pending -= 1
        self._take(grid.footprint, sm, 1)
        free = start + float(grid.work.cta_ns[sm]) + self._chip.dispatch.refill_ns
        self._events.at(free, lambda: self._free(grid, sm))

    def _free(self, grid: Grid, sm: int) -> None:
        self._take(grid.footprint, sm, -1)
        if self._line:  # another context's turn comes, everywhere, when the GPU is empty
            self._fill(self._order if self._resident == 0 else [sm])

    def _take(self, footprint: Footprint, sm: int, ctas: int) -> None:
        self._threads[sm] -= ctas * footprint.threads
        self._shared[sm] -= ctas * footprint.shared
        self._ctas[sm] -= ctas
        self._resident += ctas
