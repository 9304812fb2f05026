"""A device whose every cost is a round number, for tests that know the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from tailwave.gpu.devices.base import (
    Buffer,
    Feature,
    Graph,
    Launch,
    LinkState,
    ManagedMemory,
    NotSupportedError,
    Stream,
    Words,
)
from tailwave.model import DeviceFacts

ENQUEUE_NS = 2_000
ARGUMENT_NS = 7
KERNEL_NS = 5_000
NODE_NS = 500
GRAPH_ENQUEUE_NS = 4_000
SYNC_NS = 1_000
CTA_PS = 600
CLOCK_MHZ = 2_000
TICK_NS = 32


class FakeBuffer:
    """Words in host memory."""

    def __init__(self, words: int) -> None:
        """Begin with zeroes."""
        self.words = words
        self.values = np.zeros(words, dtype=np.uint64)

    def read(self) -> Words:
        """Return a copy."""
        return self.values.copy()

    def write(self, values: Words) -> None:
        """Keep the values."""
        self.values[: len(values)] = values

    def free(self) -> None:
        """Do nothing."""


class FakeStream:
    """A stream that may use both SMs."""

    sm_count = 2


class FakeGraph:
    """Nodes that take ``NODE_NS`` each."""

    def __init__(self, device: FakeDevice, nodes: int) -> None:
        """Remember the device and the number of nodes."""
        self.nodes = nodes
        self._device = device

    def launch(self, stream: Stream) -> None:
        """Hold the host, then keep the device busy."""
        assert stream
        self._device.work(GRAPH_ENQUEUE_NS, self.nodes * NODE_NS)


class FakeDevice:
    """Two SMs in virtual time; ``kernels`` answers for kernels that write results."""

    def __init__(self, kernels: dict[str, Callable[[Launch], None]] | None = None) -> None:
        """Begin idle at time 0, with graphs and nothing else."""
        self.facts = DeviceFacts("fake", "fake", sm_count=2, max_threads_per_sm=2048)
        self.features: frozenset[Feature] = frozenset({Feature.GRAPHS})
        self.now = 0
        self.busy_until = 0
        self.clock_mhz: float = CLOCK_MHZ
        self._kernels = {"spin": self._spin, "tick": self._tick, **(kernels or {})}

    def why_not(self, feature: Feature) -> str:
        """Say that the feature is missing."""
        return "" if feature in self.features else f"A fake has no {feature}."

    def clock_ns(self) -> int:
        """Return the time; reading costs nothing."""
        return self.now

    def buffer(self, words: int) -> Buffer:
        """Take memory."""
        return FakeBuffer(words)

    def stream(self, *, priority: int = 0) -> Stream:
        """Make a stream."""
        assert priority == 0
        return FakeStream()

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Hold the host, then keep the device busy."""
        assert stream
        if launch.kernel in self._kernels:
            self._kernels[launch.kernel](launch)
        held = ENQUEUE_NS + ARGUMENT_NS * len(launch.args)
        self.work(held, KERNEL_NS + (launch.grid - 1) * CTA_PS // 1000)

    def work(self, held_ns: int, busy_ns: int) -> None:
        """Let the host pass some time and queue work for the device."""
        self.now += held_ns
        self.busy_until = max(self.now, self.busy_until) + busy_ns

    def graph(self, launches: Sequence[Launch]) -> Graph:
        """Record launches."""
        return FakeGraph(self, len(launches))

    def synchronize(self, stream: Stream | None = None) -> None:
        """Let time pass until the work is done."""
        assert stream is None or stream
        self.now = max(self.now, self.busy_until) + SYNC_NS

    def partition(self, sm_counts: Sequence[int]) -> AbstractContextManager[list[Stream]]:
        """Refuse."""
        raise NotSupportedError(f"A fake cannot be split into {sm_counts}.")

    def copy(self, stream: Stream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Refuse."""
        raise NotSupportedError(f"{stream} {nbytes} {to_device} {pinned}")

    def link(self) -> LinkState:
        """Refuse."""
        raise NotSupportedError("A fake has no link.")

    def create_context(self) -> AbstractContextManager[Stream]:
        """Refuse."""
        raise NotSupportedError("A fake has one context.")

    def free_bytes(self) -> int:
        """Return some memory."""
        return 1 << 30

    def managed(self, nbytes: int) -> AbstractContextManager[ManagedMemory]:
        """Refuse."""
        raise NotSupportedError(f"A fake does not manage {nbytes} bytes.")

    def close(self) -> None:
        """Do nothing."""

    def _spin(self, launch: Launch) -> None:
        spin_ns = launch.args[1]
        assert isinstance(spin_ns, int)
        write(launch, [0, 1_000, 1_000 + spin_ns, round(spin_ns * self.clock_mhz / 1_000)])

    @staticmethod
    def _tick(launch: Launch) -> None:
        write(launch, [TICK_NS * i for i in range(launch.args[1])])  # type: ignore[call-overload]


def write(launch: Launch, values: Sequence[int]) -> None:
    """Let a kernel write to its first argument."""
    out = launch.args[0]
    assert isinstance(out, FakeBuffer)
    out.write(np.array(values, dtype=np.uint64))
