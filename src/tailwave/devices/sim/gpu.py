"""The GPU's side of streams: what is queued runs in order, and grids that meet share the SMs."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from tailwave.devices.base import Launch
from tailwave.devices.sim import kernels
from tailwave.devices.sim.chip import Chip
from tailwave.devices.sim.dispatch import Dispatcher, Footprint, Grid, place_alone
from tailwave.devices.sim.events import Action, Events
from tailwave.devices.sim.kernels.call import Call
from tailwave.devices.sim.latency import L2Latency
from tailwave.devices.sim.link import Link
from tailwave.devices.sim.topology import Topology, build
from tailwave.devices.sim.work import Placement, Work
from tailwave.model import Flags, Ints

Operation = Callable[[Action], None]


class Queue:
    """A stream: operations one after the other, on some SMs, at a priority, in a context."""

    def __init__(
        self, events: Events, *, allowed: Flags, gap: float, priority: int = 0, context: int = 0
    ) -> None:
        """Start empty; ``allowed`` tells by SM whether its work may use it.

        ``gap`` (ns) passes from the end of an operation to the start of the next.
        """
        self.allowed = allowed
        self.sm_count = int(allowed.sum())
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
        """Queue an operation that cannot start before ``ready`` (ns); it calls what it is given."""
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


class Gpu:
    """The chip at work, in virtual time."""

    def __init__(self, chip: Chip) -> None:
        """Build an idle chip."""
        self.chip = chip
        self.events = Events(chip.clock.start_ns)
        self.topology: Topology = build(chip.topology)
        self.link = Link(self.events, chip.copies.both_share)
        self.queues: list[Queue] = []
        self._latency = L2Latency(chip, self.topology)
        self._rng = np.random.default_rng(chip.seed)
        self._dispatcher = Dispatcher(chip, self.topology, self.events)

    def all_sms(self) -> Flags:
        """Allow every SM."""
        return np.ones(self.topology.sm_count, dtype=np.bool_)

    def queue(self, allowed: Flags, *, priority: int = 0, context: int = 0) -> Queue:
        """Make a stream."""
        queue = Queue(
            self.events,
            allowed=allowed,
            gap=self.chip.launch.stream_gap_ns,
            priority=priority,
            context=context,
        )
        self.queues.append(queue)
        return queue

    def wait(self, queues: Sequence[Queue]) -> float:
        """Let time pass until streams are idle; returns the time (ns)."""
        self.events.run_until(lambda: all(queue.idle for queue in queues))
        return self.events.now

    def kernel(self, queue: Queue, launch: Launch) -> Operation:
        """Return the operation that runs a kernel."""
        return lambda done: self._run(queue, launch, self._work(queue, launch), done)

    def work(self, queue: Queue, launch: Launch, work: Callable[[], Work]) -> Operation:
        """Return the operation that runs work that is no kernel of the contract."""
        return lambda done: self._run(queue, launch, work(), done)

    def graph(self, queue: Queue, launches: Sequence[Launch]) -> Operation:
        """Return the operation that runs launches as nodes of a graph."""
        runs = [(launch, len(list(group))) for launch, group in itertools.groupby(launches)]

        def start(done: Action) -> None:
            self._run_nodes(queue, deque(runs), done)

        return start

    def _later(self, delay: float, action: Action) -> None:
        self.events.at(self.events.now + delay, action)

    def _run_nodes(self, queue: Queue, runs: deque[tuple[Launch, int]], done: Action) -> None:
        """Run the first node, or all like it where they can be reckoned at once, then the rest."""
        launch, count = runs.popleft()
        work = self._work(queue, launch)
        gap = self.chip.launch.graph_node_ns - self.chip.dispatch.cta_ns
        after = (lambda: self._run_nodes(queue, runs, done)) if runs or count > 1 else done
        alike = work.finish is None and self._alone(queue, launch)
        placement = self._place_alone(queue, launch, work) if alike else None
        if placement is not None:
            life = float(placement.end.max()) - self.events.now
            rest = done if not runs else after
            self._later(count * (life + gap), rest)
            return
        if count > 1:
            runs.appendleft((launch, count - 1))
        self._run(queue, launch, work, lambda: self._later(gap, after))

    def _work(self, queue: Queue, launch: Launch) -> Work:
        model = kernels.find(launch.kernel)
        if model is None:
            raise LookupError(launch.kernel)
        return model(
            Call(self.chip, self.topology, self._latency, self._rng, launch, queue.allowed)
        )

    def _run(self, queue: Queue, launch: Launch, work: Work, done: Action) -> None:
        """Run one grid, in closed form where nothing else can meet it."""

        def finish(placement: Placement) -> None:
            if work.finish is not None:
                work.finish(placement)
            done()

        placement = self._place_alone(queue, launch, work) if self._alone(queue, launch) else None
        if placement is not None:
            self.events.at(float(placement.end.max()), lambda: finish(placement))
            return
        grid = Grid(
            work,
            ctas=launch.grid,
            cluster=launch.cluster,
            footprint=self.footprint(launch),
            allowed=queue.allowed,
            priority=queue.priority,
            context=queue.context,
            done=finish,
        )
        self._dispatcher.submit(grid)

    def _alone(self, queue: Queue, launch: Launch) -> bool:
        """Tell whether no other grid can meet this one.

        The host's next call can come only after the wait that let time pass this far, and so
        what it queues then cannot meet a grid that started before unless that grid's own stream,
        or another, was waited for in vain: the wait ends with the stream.
        """
        others = all(other is queue or other.idle for other in self.queues)
        return others and launch.cluster == 1 and self._dispatcher.idle

    def _place_alone(self, queue: Queue, launch: Launch, work: Work) -> Placement | None:
        start = self.events.now + self._dispatcher.enter(queue.context)
        slots = self._slots(queue, launch)
        return place_alone(self.chip.dispatch, launch.grid, slots, work.cta_ns, start)

    def _slots(self, queue: Queue, launch: Launch) -> Ints:
        """Return the SMs of all places for CTAs: one of each SM first, then the second of each."""
        order = self.topology.order[queue.allowed[self.topology.order]]
        return np.tile(order, self.footprint(launch).per_sm(self.chip))

    def footprint(self, launch: Launch) -> Footprint:
        """Reckon what a CTA takes; shared memory of -1 is the most that it may have."""
        most = self.chip.facts.shared_per_block_optin
        return Footprint(self.chip, launch.block, most if launch.shared < 0 else launch.shared)
