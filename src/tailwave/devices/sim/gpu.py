"""The chip at work in virtual time: kernels and graphs, each at once where nothing can meet it."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tailwave.devices.base import Launch
from tailwave.devices.sim import kernels
from tailwave.devices.sim.chip import Chip
from tailwave.devices.sim.dispatch import Dispatcher, Footprint, Grid, place_alone
from tailwave.devices.sim.events import Action, Events
from tailwave.devices.sim.kernels.call import Call
from tailwave.devices.sim.latency import L2Latency
from tailwave.devices.sim.link import Link
from tailwave.devices.sim.queues import Operation, Queue
from tailwave.devices.sim.topology import Topology, build
from tailwave.devices.sim.work import Placement, Work
from tailwave.model import Flags, Ints


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
        return self.work(queue, launch, lambda: self._work(queue, launch))

    def work(self, queue: Queue, launch: Launch, work: Callable[[], Work]) -> Operation:
        """Return the operation that runs work that is known only once it starts."""
        return lambda done: self._run(queue, launch, work(), done)

    def graph(self, queue: Queue, launches: Sequence[Launch]) -> Operation:
        """Return the operation that runs launches as nodes of a graph."""
        runs = [(launch, len(list(group))) for launch, group in itertools.groupby(launches)]

        def start(done: Action) -> None:
            self._run_nodes(queue, deque(runs), done)

        return start

    def fits(self, queue: Queue, launch: Launch) -> bool:
        """Tell whether some part of the chip that the stream may use holds a whole cluster."""
        room = (int(queue.allowed[domain].sum()) for domain in self.topology.domains)
        return launch.cluster == 1 or max(room) >= launch.cluster

    def _later(self, delay: float, action: Action) -> None:
        self.events.at(self.events.now + delay, action)

    def _run_nodes(self, queue: Queue, runs: deque[tuple[Launch, int]], done: Action) -> None:
        """Run the first node, or all that are like it if that can be reckoned, then the rest."""
        launch, count = runs.popleft()
        work = self._work(queue, launch)
        gap = self.chip.launch.graph_node_ns - self.chip.dispatch.cta_ns
        life = None if work.finish else self._life_alone(queue, launch, work)
        if life is None and count > 1:
            runs.appendleft((launch, count - 1))
        rest = partial(self._run_nodes, queue, runs, done) if runs else done
        if life is None:
            self._run(queue, launch, work, partial(self._later, gap, rest))
        else:
            self._later(count * (life + gap), rest)

    def _life_alone(self, queue: Queue, launch: Launch, work: Work) -> float | None:
        """Return how long a grid takes from now (ns), or None where others can meet it."""
        placement = self._place_alone(queue, launch, work)
        return None if placement is None else float(placement.end.max()) - self.events.now

    def _work(self, queue: Queue, launch: Launch) -> Work:
        model = kernels.find(launch.kernel)
        if model is None:
            raise LookupError(launch.kernel)
        return model(
            Call(
                chip=self.chip,
                topology=self.topology,
                latency=self._latency,
                rng=self._rng,
                launch=launch,
                allowed=queue.allowed,
                resident=min(-(-launch.grid // queue.sm_count), self._per_sm(launch)),
            )
        )

    def _run(self, queue: Queue, launch: Launch, work: Work, done: Action) -> None:
        """Run one grid, in closed form where nothing else can meet it."""

        def finish(placement: Placement) -> None:
            if work.finish is not None:
                work.finish(placement)
            done()

        placement = self._place_alone(queue, launch, work)
        if placement is not None:
            self.events.at(float(placement.end.max()), lambda: finish(placement))
            return
        grid = Grid(
            work,
            ctas=launch.grid,
            cluster=launch.cluster,
            footprint=self._footprint(launch),
            allowed=queue.allowed,
            priority=queue.priority,
            context=queue.context,
            done=finish,
        )
        self._dispatcher.submit(grid)

    def _alone(self, queue: Queue, launch: Launch) -> bool:
        """Tell whether no other grid can meet this one, which starts now.

        No other stream has anything to do. What the host queues later cannot meet it either: time
        passes only while the host waits for streams, until they are idle.
        """
        others = all(other is queue or other.idle for other in self.queues)
        return others and launch.cluster == 1 and self._dispatcher.idle

    def _place_alone(self, queue: Queue, launch: Launch, work: Work) -> Placement | None:
        """Place a grid in closed form; None where others can meet it, or its CTAs differ."""
        if not self._alone(queue, launch):
            return None
        start = self.events.now + self._dispatcher.enter(queue.context)
        slots = self._slots(queue, launch)
        return place_alone(self.chip.dispatch, launch.grid, slots, work.cta_ns, start)

    def _slots(self, queue: Queue, launch: Launch) -> Ints:
        """Return the SMs of all places for CTAs: one of each SM first, then the second of each."""
        order = self.topology.order[queue.allowed[self.topology.order]]
        return np.tile(order, self._per_sm(launch))

    def _per_sm(self, launch: Launch) -> int:
        return self._footprint(launch).per_sm(self.chip)

    def _footprint(self, launch: Launch) -> Footprint:
        """Reckon what a CTA takes; shared memory of -1 is the most that it may have."""
        most = self.chip.facts.shared_per_block_optin
        return Footprint(self.chip, launch.block, most if launch.shared < 0 else launch.shared)
