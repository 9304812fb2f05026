"""Managed memory: all of it lies on the host or on the device, and moves as a whole."""

from __future__ import annotations

import numpy as np

from tailwave.gpu.devices.base import Launch, Stream
from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.clock import Callback, Host
from tailwave.gpu.devices.sim.gpu import Gpu
from tailwave.gpu.devices.sim.work import WARP, Work


class SimManaged:
    """Pages that fault in by groups, or are moved ahead at the prefetch rate."""

    def __init__(self, chip: Chip, gpu: Gpu, host: Host, nbytes: int) -> None:
        """Take pages that are on the host, untouched."""
        self._chip = chip
        self._gpu = gpu
        self._host = host
        self._nbytes = nbytes
        self._on_device = False

    def touch_on_host(self) -> None:
        """Write every page on the host: those on the device fault and come back."""
        self._host.wait_until(self._gpu.wait(self._gpu.queues))
        if self._on_device:
            self._host.pay(self._fault_ns())
        self._on_device = False

    def touch_on_device(self, stream: Stream) -> None:
        """Read every page in a kernel: those on the host fault and are moved."""
        queue = self._gpu.own(stream)
        self._host.pay(self._chip.launch.enqueue_ns)
        launch = Launch("touch", 1, WARP)
        operation = self._gpu.work(queue, launch, self._touch)
        queue.push(self._host.now + self._chip.launch.latency_ns, operation)

    def prefetch(self, stream: Stream, *, to_device: bool) -> None:
        """Ask for all pages to be moved; nothing to do when they are there."""
        self._host.pay(self._chip.copies.enqueue_ns)

        def move(done: Callback) -> None:
            moved = 0 if self._on_device == to_device else self._nbytes
            self._on_device = to_device
            rate = self._chip.managed.prefetch_gbps
            self._gpu.link.transfer(moved, rate, to_device=to_device, done=done)

        self._gpu.own(stream).push(self._host.now + self._chip.copies.latency_ns, move)

    def advise_preferred_device(self) -> None:
        """Advise that the pages should live on the device: the first touch faults all the same."""
        self._host.pay(self._chip.launch.enqueue_ns)

    def _touch(self) -> Work:
        ns = self._chip.ns(self._chip.latency.memory_cycles)
        if not self._on_device:
            ns += self._fault_ns()
        self._on_device = True
        return Work(np.full(self._gpu.topology.sm_count, ns))

    def _fault_ns(self) -> float:
        """Return the time to move all pages by faults, served in groups."""
        managed = self._chip.managed
        faults = -(-self._nbytes // managed.fault_bytes)
        groups = -(-faults // managed.faults_at_once)
        return groups * managed.fault_ns + self._nbytes / self._chip.copies.pinned_gbps
