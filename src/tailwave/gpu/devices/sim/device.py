"""The simulated GPU as probes see it: `devices.base.Device` in virtual time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tailwave.gpu.devices.base import Feature, Launch, LinkState, NotSupportedError, Stream
from tailwave.gpu.devices.sim import kernels
from tailwave.gpu.devices.sim.buffers import WORD_BYTES, Memory, SimBuffer
from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.clock import Host
from tailwave.gpu.devices.sim.gpu import Gpu
from tailwave.gpu.devices.sim.managed import SimManaged
from tailwave.gpu.devices.sim.queues import Operation, Queue
from tailwave.model import DeviceFacts


class SimGraph:
    """A recorded sequence of launches."""

    def __init__(self, device: SimDevice, launches: tuple[Launch, ...]) -> None:
        """Keep the launches for `launch`."""
        self.nodes = len(launches)
        self._device = device
        self._launches = launches

    def launch(self, stream: Stream) -> None:
        """Enqueue the whole graph on a stream."""
        self._device.launch_graph(stream, self._launches)


class SimDevice:
    """One simulated GPU. Nothing it gives was measured; its facts say so."""

    def __init__(self, chip: Chip) -> None:
        """Open a chip, idle, with all its memory free."""
        self.facts = _facts(chip)
        self.features = frozenset(Feature) - {Feature(name) for name in chip.lacks}
        self._chip = chip
        self._gpu = Gpu(chip)
        self._host = Host(chip)
        self._memory = Memory(chip.facts.memory_bytes - chip.contexts.reserved_bytes)
        self._contexts = itertools.count(1)
        self._split = False

    def why_not(self, feature: Feature) -> str:
        """Return the sentence that says why a feature is missing ("" if it is there)."""
        return self._chip.lacks.get(feature.value, "")

    def clock_ns(self) -> int:
        """Read the host's virtual clock; reading takes time, so it always moves on."""
        self._host.now += self._chip.clock.read_ns
        return int(self._host.now)

    def buffer(self, words: int) -> SimBuffer:
        """Take device memory, zeroed. Raises NotSupportedError when there is not enough."""
        if not self._memory.take(words * WORD_BYTES):
            raise NotSupportedError(
                f"{words * WORD_BYTES} bytes were asked for, and {self._memory.free} are free."
            )
        return SimBuffer(words, self._memory, self.synchronize)

    def stream(self, *, priority: int = 0) -> Queue:
        """Make a stream; a lower number goes first, as CUDA counts."""
        if priority:
            self._require(Feature.PRIORITY)
        return self._gpu.queue(self._gpu.all_sms(), priority=priority)

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Enqueue a kernel."""
        self._check(launch)
        queue = self._gpu.own(stream)
        self._check_cluster(queue, launch)
        costs = self._chip.launch
        whole = queue.sm_count == self._gpu.topology.sm_count
        more = 0.0 if whole else self._chip.partition.launch_ns
        self._host.pay(costs.enqueue_ns + more + costs.argument_ns * len(launch.args))
        self._push(queue, self._gpu.kernel(queue, launch))

    def graph(self, launches: Sequence[Launch]) -> SimGraph:
        """Record launches, each depending on the one before, into a graph ready to launch."""
        self._require(Feature.GRAPHS)
        for launch in launches:
            self._check(launch)
        return SimGraph(self, tuple(launches))

    def launch_graph(self, stream: Stream, launches: Sequence[Launch]) -> None:
        """Enqueue recorded launches as one graph."""
        queue = self._gpu.own(stream)
        for launch in launches:
            self._check_cluster(queue, launch)
        costs = self._chip.launch
        self._host.pay(costs.graph_enqueue_ns + costs.graph_host_node_ns * len(launches))
        self._push(queue, self._gpu.graph(queue, launches))

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for a stream, or for everything."""
        queues = self._gpu.queues if stream is None else [self._gpu.own(stream)]
        self._host.wait_until(self._gpu.wait(queues))

    @contextlib.contextmanager
    def partition(self, sm_counts: Sequence[int]) -> Iterator[list[Stream]]:
        """Split the SMs once into disjoint groups; one stream each, the last with what remains."""
        self._require(Feature.PARTITION)
        if self._split:
            raise NotSupportedError("The SMs are split already; leave that partition first.")
        sizes = self._chip.partition.group_sizes(self._gpu.topology.sm_count, sm_counts)
        self._host.pay(self._chip.partition.split_ns)
        edges = np.cumsum([0, *sizes])
        numbers = np.arange(self._gpu.topology.sm_count)
        groups = [
            self._gpu.queue((numbers >= first) & (numbers < end))
            for first, end in itertools.pairwise(edges)
        ]
        self._split = True
        try:
            yield [*groups]
        finally:
            self._split = False
            self._drop(groups)

    def copy(self, stream: Stream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Enqueue a copy; one of pageable memory holds the host until it has finished."""
        self._require(Feature.COPY)
        copies = self._chip.copies
        self._host.pay(copies.enqueue_ns)
        pageable = copies.pageable_gbps if to_device else copies.pageable_back_gbps
        rate = copies.pinned_gbps if pinned else pageable
        queue = self._gpu.own(stream)
        self._push(
            queue,
            lambda done: self._gpu.link.transfer(nbytes, rate, to_device=to_device, done=done),
            latency=copies.latency_ns,
        )
        if not pinned:
            self.synchronize(stream)

    def link(self) -> LinkState:
        """Read the state of the host link, which is never downshifted."""
        self._require(Feature.LINK)
        width, generation = self._chip.copies.width, self._chip.copies.generation
        return LinkState(width, generation, width, generation)

    @contextlib.contextmanager
    def create_context(self) -> Iterator[Stream]:
        """Make another context and a stream in it; leaving destroys it."""
        self._require(Feature.CONTEXTS)
        costs = self._chip.contexts
        if not self._memory.take(costs.bytes):
            raise NotSupportedError("There is no memory left for another context.")
        self._host.pay(costs.create_ns)
        queue = self._gpu.queue(self._gpu.all_sms(), context=next(self._contexts))
        try:
            yield queue
        finally:
            self._drop([queue])
            self._host.pay(costs.destroy_ns)
            self._memory.give(costs.bytes)

    def free_bytes(self) -> int:
        """Device memory that is free now."""
        return self._memory.free

    @contextlib.contextmanager
    def managed(self, nbytes: int) -> Iterator[SimManaged]:
        """Take managed memory, up to a limit; raises NotSupportedError above it."""
        self._require(Feature.MANAGED)
        most = self._chip.managed.most_bytes
        if nbytes > most:
            raise NotSupportedError(f"Managed memory is limited to {most} bytes here.")
        yield SimManaged(self._chip, self._gpu, self._host, nbytes)

    def close(self) -> None:
        """Let all work finish."""
        self.synchronize()

    def _push(self, queue: Queue, operation: Operation, latency: float | None = None) -> None:
        delay = self._chip.launch.latency_ns if latency is None else latency
        queue.push(self._host.now + delay, operation)

    def _drop(self, queues: Sequence[Queue]) -> None:
        """Let streams finish, and forget them."""
        self._host.wait_until(self._gpu.wait(queues))
        for queue in queues:
            self._gpu.queues.remove(queue)

    def _require(self, feature: Feature) -> None:
        if feature not in self.features:
            raise NotSupportedError(self.why_not(feature))

    def _check(self, launch: Launch) -> None:
        """Refuse what no such chip can run; raises NotSupportedError."""
        facts = self._chip.facts
        kernels.find(launch.kernel)
        if launch.shared > facts.shared_per_block_optin:
            raise NotSupportedError(f"A CTA may have {facts.shared_per_block_optin} bytes at most.")
        if launch.grid < 1 or not 1 <= launch.block <= facts.max_threads_per_block:
            raise NotSupportedError(f"A grid of {launch.grid} x {launch.block} cannot be launched.")
        if launch.cluster > 1:
            self._require(Feature.CLUSTERS)
        if launch.cluster > facts.max_cluster or launch.grid % launch.cluster:
            raise NotSupportedError(
                f"Clusters have up to {facts.max_cluster} CTAs, and a grid holds only whole ones."
            )

    def _check_cluster(self, queue: Queue, launch: Launch) -> None:
        if not self._gpu.fits(queue, launch):
            raise NotSupportedError(
                f"The {queue.sm_count} SMs have no place for a cluster of {launch.cluster} CTAs."
            )


def _facts(chip: Chip) -> DeviceFacts:
    facts = chip.facts
    return DeviceFacts(
        name=chip.name,
        backend="sim",
        sm_count=chip.topology.sms_per_tpc
        * sum(len(tpcs) for gpc in chip.topology.gpcs for tpcs in gpc.cpcs),
        compute_major=facts.compute_major,
        compute_minor=facts.compute_minor,
        clock_mhz_max=chip.clock.mhz,
        l2_bytes=facts.l2_bytes,
        memory_bytes=facts.memory_bytes,
        shared_per_sm=facts.shared_per_sm,
        shared_per_block_optin=facts.shared_per_block_optin,
        max_threads_per_sm=facts.max_threads_per_sm,
        simulated=True,
    )
