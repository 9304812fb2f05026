"""The chip at work in virtual time: kernels and graphs, each at once where nothing can meet it."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tailwave.gpu.devices.base import Launch, Stream
from tailwave.gpu.devices.sim import kernels
from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.clock import Callback, Events
from tailwave.gpu.devices.sim.dispatch import Dispatcher, Grid
from tailwave.gpu.devices.sim.fabric import L2Latency
from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.queues import Link, Operation, Queue
from tailwave.gpu.devices.sim.topology import Topology, build
from tailwave.gpu.devices.sim.work import Finish, Footprint, Placement, Waves, Work
from tailwave.model import Flags


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
        order = self.topology.order
        queue = Queue(
            self.events,
            allowed=allowed,
            order=order[allowed[order]],
            gap=self.chip.launch.stream_gap_ns,
            priority=priority,
            context=context,
        )
        self.queues.append(queue)
        return queue

    def own(self, stream: Stream) -> Queue:
        """Return a stream of this GPU as what it is; raises ValueError for any other."""
        if stream not in self.queues:
            raise ValueError("the stream is not, or no longer, one of this device")
        return stream

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

        def start(done: Callback) -> None:
            self._run_nodes(queue, deque(runs), done)

        return start

    def fits(self, queue: Queue, launch: Launch) -> bool:
        """Tell whether some part of the chip that the stream may use holds a whole cluster."""
        room = (int(queue.allowed[domain].sum()) for domain in self.topology.domains)
        return launch.cluster == 1 or max(room) >= launch.cluster

    def _later(self, delay: float, action: Callback) -> None:
        self.events.at(self.events.now + delay, action)

    def _run_nodes(self, queue: Queue, runs: deque[tuple[Launch, int]], done: Callback) -> None:
        """Run the first node, or all that are like it if that can be told, then the rest."""
        launch, count = runs.popleft()
        work = self._work(queue, launch)
        gap = self.chip.launch.graph_node_ns - self.chip.dispatch.cta_ns
        waves = None if work.finish else self._waves(queue, launch, work)
        if waves is None and count > 1:
            runs.appendleft((launch, count - 1))
        rest = partial(self._run_nodes, queue, runs, done) if runs else done
        if waves is None:
            self._run(queue, launch, work, partial(self._later, gap, rest))
        else:
            delay = self._dispatcher.enter(queue.context)
            self._later(delay + count * (waves.length() + gap), rest)

    def _work(self, queue: Queue, launch: Launch) -> Work:
        return kernels.find(launch.kernel)(
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

    def _run(self, queue: Queue, launch: Launch, work: Work, done: Callback) -> None:
        """Run one grid, in closed form where nothing else can meet it."""
        waves = self._waves(queue, launch, work)
        if waves is None:
            self._share(queue, launch, work, done)
            return
        delay = self._dispatcher.enter(queue.context)
        if work.finish is None:
            self._later(delay + waves.length(), done)
            return
        placement = waves.placement(self.events.now + delay)
        end = float(placement.end.max())
        self.events.at(end, partial(self._finish, work.finish, done, placement))

    def _share(self, queue: Queue, launch: Launch, work: Work, done: Callback) -> None:
        """Run one grid among others."""
        grid = Grid(
            work,
            ctas=launch.grid,
            cluster=launch.cluster,
            footprint=self._footprint(launch),
            allowed=queue.allowed,
            priority=queue.priority,
            context=queue.context,
            done=partial(self._finish, work.finish, done),
        )
        self._dispatcher.submit(grid)

    @staticmethod
    def _finish(finish: Finish | None, done: Callback, placement: Placement) -> None:
        if finish is not None:
            finish(placement)
        done()

    def _alone(self, queue: Queue, launch: Launch) -> bool:
        """Tell whether no other grid can meet this one, which starts now.

        No other stream has anything to do. What the host queues later cannot meet it either: time
        passes only while the host waits for streams, until they are idle.
        """
        others = all(other is queue or other.idle for other in self.queues)
        return others and launch.cluster == 1 and self._dispatcher.idle

    def _waves(self, queue: Queue, launch: Launch, work: Work) -> Waves | None:
        """Return a grid in closed form; None where others can meet it, or its CTAs differ."""
        if not self._alone(queue, launch):
            return None
        per_sm = self._per_sm(launch)
        waves = Waves(self.chip.dispatch, launch.grid, queue.order, per_sm, work.cta_ns)
        return waves if waves.holds else None

    def _per_sm(self, launch: Launch) -> int:
        return self._footprint(launch).per_sm(self.chip)

    def _footprint(self, launch: Launch) -> Footprint:
        """Reckon what a CTA takes; shared memory of -1 is the most that it may have."""
        most = self.chip.facts.shared_per_block_optin
        return Footprint(self.chip, launch.block, most if launch.shared < 0 else launch.shared)
