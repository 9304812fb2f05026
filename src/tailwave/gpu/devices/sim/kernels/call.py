"""What a model of a kernel has to go by: the chip, the launch, and the SMs that it may use."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from tailwave.gpu.devices.base import Launch, Words
from tailwave.gpu.devices.sim.buffers import SimBuffer
from tailwave.gpu.devices.sim.chip import Chip
from tailwave.gpu.devices.sim.fabric import L2Latency
from tailwave.gpu.devices.sim.topology import Topology
from tailwave.model import Flags, Floats

Numbers = npt.NDArray[np.floating]


class Call(msgspec.Struct, frozen=True):
    """One launch as it starts on the GPU.

    ``allowed`` tells by SM whether the stream may use it, ``resident`` is how many CTAs of the
    launch an SM holds at once when the GPU is otherwise empty.
    """

    chip: Chip
    topology: Topology
    latency: L2Latency
    rng: np.random.Generator
    launch: Launch
    allowed: Flags
    resident: int = 1

    def words(self, index: int) -> Words:
        """Return the words of the buffer that is argument ``index``."""
        value = self.launch.args[index]
        if not isinstance(value, SimBuffer):
            raise TypeError(f"argument {index} of kernel {self.launch.kernel} must be a buffer")
        return value.values

    def integer(self, index: int) -> int:
        """Return the integer that is argument ``index``."""
        value = self.launch.args[index]
        if not isinstance(value, int | np.integer):
            raise TypeError(f"argument {index} of kernel {self.launch.kernel} must be an integer")
        return int(value)

    def selected(self, index: int) -> Flags:
        """Tell by SM whether the mask that is argument ``index`` selects it, and it may be used."""
        mask = self.words(index)[: self.topology.sm_count]
        chosen = np.zeros(self.topology.sm_count, dtype=np.bool_)
        chosen[: len(mask)] = mask == 1
        return chosen & self.allowed

    def everywhere(self, ns: float) -> Floats:
        """Return a CTA's life that is the same on every SM: an empty CTA's and ``ns`` more."""
        return np.full(self.topology.sm_count, self.chip.dispatch.cta_ns + ns)

    def on(self, sms: Flags, ns: float | Floats) -> Floats:
        """Return a CTA's life that is ``ns`` longer than an empty one's on some SMs only."""
        return np.asarray(self.everywhere(0.0) + np.where(sms, ns, 0.0))

    def ticks(self, ns: Numbers) -> Words:
        """Return times as the global timer shows them: whole ticks."""
        tick = self.chip.clock.tick_ns
        return ((ns // tick) * tick).astype(np.uint64)

    def cycles(self, ns: Floats) -> Words:
        """Return spans of time as an SM's clock counts them."""
        return np.rint(ns * self.chip.clock.mhz / 1000).astype(np.uint64)
