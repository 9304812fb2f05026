"""An NVIDIA GPU as probes see it: `devices.base.Device` over cuda-core."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from tailwave.gpu.devices.base import (
    Feature,
    Launch,
    LinkState,
    ManagedMemory,
    NotSupportedError,
    Stream,
)
from tailwave.gpu.devices.cuda.compiler import Compiler
from tailwave.gpu.devices.cuda.facts import facts_of, lacking
from tailwave.gpu.devices.cuda.foreign import CoreDevice, CoreStream
from tailwave.gpu.devices.cuda.launcher import CudaGraph, Launcher, recorded
from tailwave.gpu.devices.cuda.managed import Parts, managed
from tailwave.gpu.devices.cuda.memory import Copies, CudaBuffer, Memory
from tailwave.gpu.devices.cuda.nvml import Nvml
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import guarded
from tailwave.gpu.devices.cuda.streams import CudaStream, another_context, ours, partitioned


class CudaDevice:
    """One NVIDIA GPU, its primary context current in the thread that opened it."""

    def __init__(self, libraries: Libraries, core: CoreDevice, nvml: Nvml) -> None:
        """Take an opened device."""
        self._libraries = libraries
        self._core = core
        self._nvml = nvml
        self._own = self._make_stream(None)
        self._memory = Memory(libraries, core, self._own)
        self.facts = facts_of(libraries, core, self._memory, nvml)
        self._lacking = lacking(core, nvml)
        self.features = frozenset(Feature) - set(self._lacking)
        architecture = f"sm_{self.facts.compute_major}{self.facts.compute_minor}"
        compiler = Compiler(libraries, architecture)
        self._launcher = Launcher(libraries, core.device_id, compiler, self.facts)
        self._copies = Copies(libraries, core, self._own)

    def why_not(self, feature: Feature) -> str:
        """Return the sentence that says why a feature is missing ("" if it is there)."""
        return self._lacking.get(feature, "")

    def clock_ns(self) -> int:
        """Read the host's clock (ns)."""
        return time.perf_counter_ns()

    def buffer(self, words: int) -> CudaBuffer:
        """Take device memory, zeroed. Raises NotSupportedError when there is not enough."""
        return self._memory.take(words)

    def stream(self, *, priority: int = 0) -> CudaStream:
        """Make a stream; a lower number goes first. One out of range is brought into it."""
        if priority:
            self._require(Feature.PRIORITY)
        return CudaStream(self._make_stream(priority), self.facts.sm_count)

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Enqueue a kernel."""
        if launch.cluster > 1:
            self._require(Feature.CLUSTERS)
        self._launcher.launch(ours(stream).handle, launch)

    def graph(self, launches: Sequence[Launch]) -> CudaGraph:
        """Record launches, each depending on the one before, into a graph ready to launch."""
        return recorded(self._own, self._launcher, launches)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for a stream, or for everything."""
        with guarded("waiting for the GPU"):
            if stream is None:
                self._core.sync()
            else:
                ours(stream).core.sync()

    def partition(self, sm_counts: Sequence[int]) -> AbstractContextManager[list[Stream]]:
        """Split the SMs once into disjoint groups; one stream each, the last with what remains."""
        self._require(Feature.PARTITION)
        return partitioned(self._libraries, self._core, sm_counts)

    def copy(self, stream: Stream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Enqueue a copy of ``nbytes`` between a host buffer of that kind and the device."""
        self._copies.enqueue(ours(stream).core, nbytes, to_device=to_device, pinned=pinned)

    def link(self) -> LinkState:
        """Read the state of the host link; under load it is not downshifted."""
        self._require(Feature.LINK)
        return self._nvml.link()

    def create_context(self) -> AbstractContextManager[Stream]:
        """Make another context and a stream in it; leaving destroys it."""
        return another_context(self._libraries, self._core.device_id, self.facts.sm_count)

    def free_bytes(self) -> int:
        """Device memory that is free now."""
        return self._memory.free_bytes()

    def managed(self, nbytes: int) -> AbstractContextManager[ManagedMemory]:
        """Take managed memory (small sizes only: the most is 64 MiB)."""
        self._require(Feature.MANAGED)
        return managed(Parts(self._libraries, self._core, self._launcher, self._memory), nbytes)

    def close(self) -> None:
        """Let all work finish, and give back what the device itself has taken."""
        self.synchronize()
        self._copies.close()
        self._own.close()

    def _make_stream(self, priority: int | None) -> CoreStream:
        with guarded("making a stream"):
            options = self._libraries.core.StreamOptions(priority=self._in_range(priority))
            return self._core.create_stream(options=options)

    def _in_range(self, priority: int | None) -> int | None:
        if not priority:
            return None
        _, least, greatest = self._libraries.driver.cuCtxGetStreamPriorityRange()
        return max(int(greatest), min(priority, int(least)))

    def _require(self, feature: Feature) -> None:
        if feature not in self.features:
            raise NotSupportedError(self.why_not(feature))
