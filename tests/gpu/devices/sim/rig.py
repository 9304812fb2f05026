"""A simulated chip to test with, and short words for launches on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from tailwave.gpu.devices.base import Launch, Stream, Words
from tailwave.gpu.devices.sim import chip as chips
from tailwave.gpu.devices.sim.buffers import SimBuffer
from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.device import SimDevice

CHIP = chips.load("h200")
SMS = 132


def quiet(chip: Chip = CHIP) -> Chip:
    """Return a chip whose host neither jitters nor stalls."""
    launch = msgspec.structs.replace(chip.launch, jitter=0.0, stall_chance=0.0)
    return msgspec.structs.replace(chip, launch=launch)


class Rig:
    """A device of its own for each test, with one stream."""

    def __init__(self, chip: Chip | None = None) -> None:
        """Open a quiet chip, unless another is given."""
        self.chip = chip or quiet()
        self.device = SimDevice(self.chip)
        self.stream: Stream = self.device.stream()

    def buffer(self, values: int | Iterable[int]) -> SimBuffer:
        """Return a buffer of so many zeroes, or of these words."""
        if isinstance(values, int):
            return self.device.buffer(values)
        words = np.array(list(values), dtype=np.uint64)
        buffer = self.device.buffer(len(words))
        buffer.write(words)
        return buffer

    def select(self, sms: Iterable[int]) -> SimBuffer:
        """Return a mask that selects SMs."""
        chosen = set(sms)
        return self.buffer(int(sm in chosen) for sm in range(SMS))

    def run(  # noqa: PLR0913  as a launch has
        self,
        kernel: str,
        grid: int,
        block: int,
        *args: object,
        shared: int = 0,
        cluster: int = 1,
        stream: Stream | None = None,
    ) -> None:
        """Enqueue a kernel."""
        launch = Launch(kernel, grid, block, args, shared, cluster)
        self.device.launch(stream or self.stream, launch)

    def everywhere(self, kernel: str, block: int, out: SimBuffer, *args: object) -> Words:
        """Run a kernel with a CTA on each SM; returns what it wrote."""
        self.run(kernel, SMS, block, out, *args, shared=-1)
        return out.read()

    def rows(
        self, kernel: str, grid: int, *args: object, shared: int = -1, cluster: int = 1
    ) -> Words:
        """Run a kernel that writes four words per CTA; returns them as rows."""
        out = self.buffer(4 * grid)
        self.run(kernel, grid, 32, out, *args, shared=shared, cluster=cluster)
        return out.read().reshape(grid, 4)

    def host_ns(self, work: Callable[[], object]) -> int:
        """Return the host's time for some work, less that of reading the clock."""
        start = self.device.clock_ns()
        work()
        return self.device.clock_ns() - start - self.chip.clock.read_ns

    def finished_ns(self, work: Callable[[], object]) -> int:
        """Return the host's time from the start of some work until it has run."""

        def until_done() -> None:
            work()
            self.device.synchronize()

        return self.host_ns(until_done)
