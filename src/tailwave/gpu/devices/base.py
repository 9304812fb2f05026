"""What a probe may ask of a device: memory, streams, launches, graphs, partitions, a clock.

A probe names a kernel and its arguments; each backend has that kernel in its own form (CUDA C++
in ``kernels/*.cu``, a model in virtual time for the simulator), and ``kernels/README.md`` is the
contract for both. Results come back through buffers of 64-bit words, times among them as
``%globaltimer`` nanoseconds or SM clock cycles.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from tailwave.errors import UnavailableError
from tailwave.model import DeviceFacts

Words = npt.NDArray[np.uint64]


class Feature(enum.StrEnum):
    """What a device may or may not be able to do."""

    GRAPHS = "graphs"
    CLUSTERS = "clusters"
    PRIORITY = "priority"
    PARTITION = "partition"
    COPY = "copy"
    CONTEXTS = "contexts"
    MANAGED = "managed"
    LINK = "link"
    SM_IDS = "sm_ids"  # a smid names a place on the chip: not so under MPS


class DeviceLostError(UnavailableError):
    """The device stopped answering in mid-run; what was measured before remains good."""


class DeviceFailedError(UnavailableError):
    """One call went wrong while the device is still there; the message says which, and why."""


class NotSupportedError(Exception):
    """The device cannot do what was asked; the message is the reason, a full sentence."""


class DeniedError(Exception):
    """The device could, but not for this user or in this container; the message says what for."""


class Buffer(Protocol):
    """Device memory holding 64-bit words."""

    words: int

    def read(self) -> Words:
        """Copy the words to the host, after all work before has finished."""

    def write(self, values: Words) -> None:
        """Copy words from the host, before any work after."""

    def free(self) -> None:
        """Give the memory back; the buffer must not be used again."""


class Stream(Protocol):
    """An in-order queue of work."""

    sm_count: int  # SMs that its work may use


class Launch(msgspec.Struct, frozen=True):
    """One launch of a named kernel: ``grid`` CTAs of ``block`` threads.

    ``args`` are buffers or integers, passed as 64-bit words. ``shared`` is dynamic shared memory
    per CTA in bytes; -1 asks for the most that a CTA may have, so that one CTA fills an SM.
    ``cluster`` is the number of CTAs in a cluster (1: none).
    """

    kernel: str
    grid: int
    block: int
    args: tuple[object, ...] = ()
    shared: int = 0
    cluster: int = 1


class Graph(Protocol):
    """A recorded sequence of launches."""

    nodes: int

    def launch(self, stream: Stream) -> None:
        """Enqueue the whole graph on a stream."""


class LinkState(msgspec.Struct, frozen=True):
    """The host link as it is now and as it could be; 0 where it cannot be read."""

    width: int
    generation: int
    width_max: int
    generation_max: int


class Device(Protocol):
    """One GPU, real or simulated. All calls raise DeviceLostError when it has gone."""

    facts: DeviceFacts
    features: frozenset[Feature]

    def why_not(self, feature: Feature) -> str:
        """Return the sentence that says why a feature is missing ("" if it is there)."""

    def clock_ns(self) -> int:
        """Read the host's clock (ns): real, or virtual for a simulated device."""

    def buffer(self, words: int) -> Buffer:
        """Take device memory, zeroed. Raises NotSupportedError when there is not enough."""

    def stream(self, *, priority: int = 0) -> Stream:
        """Make a stream; a lower number goes first, as CUDA counts."""

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Enqueue a kernel."""

    def graph(self, launches: Sequence[Launch]) -> Graph:
        """Record launches, each depending on the one before, into a graph ready to launch."""

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for a stream, or for everything."""

    def partition(self, sm_counts: Sequence[int]) -> AbstractContextManager[list[Stream]]:
        """Split the SMs once into disjoint groups; one stream each, and one for what remains.

        Counts are rounded as the device requires; each stream's ``sm_count`` says what it got.
        Where nothing remains there is no last stream.
        """

    def copy(self, stream: Stream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Enqueue a copy of ``nbytes`` between a host buffer of that kind and the device.

        The buffers are the device's own, made on first use and kept, so that their making is not
        timed. Copies of pageable memory hold the host as the driver does.
        """

    def link(self) -> LinkState:
        """Read the state of the host link; under load it is not downshifted."""

    def create_context(self) -> AbstractContextManager[Stream]:
        """Make another context and a stream in it; leaving destroys it."""

    def free_bytes(self) -> int:
        """Device memory that is free now."""

    def managed(self, nbytes: int) -> AbstractContextManager[ManagedMemory]:
        """Take managed memory (small sizes only: the most is 64 MiB)."""

    def close(self) -> None:
        """Give everything back."""


class ManagedMemory(Protocol):
    """Memory that moves between host and device by page."""

    def touch_on_host(self) -> None:
        """Write every page on the host, so that all of it is there."""

    def touch_on_device(self, stream: Stream) -> None:
        """Read every page in a kernel (kernel ``touch``)."""

    def prefetch(self, stream: Stream, *, to_device: bool) -> None:
        """Ask for all pages to be moved."""

    def advise_preferred_device(self) -> None:
        """Advise that the pages should live on the device."""


class ClockReason(enum.StrEnum):
    """Why a GPU's clock is held below what was asked of it."""

    HW_SLOWDOWN = "hardware slowdown"
    HW_THERMAL = "hardware thermal slowdown"
    SW_THERMAL = "software thermal slowdown"
    POWER_BRAKE = "external power brake"
    POWER_CAP = "power cap"


class GpuId(msgspec.Struct, frozen=True):
    """One GPU of this machine; ``index`` counts by PCI address, ``instances`` are MIG's UUIDs."""

    index: int
    uuid: str
    name: str
    instances: tuple[str, ...] = ()


class GpuProcess(msgspec.Struct, frozen=True):
    """A process that has a context on a GPU; its memory is None where that is not told."""

    pid: int
    memory_bytes: int | None
    compute: bool = True  # False: it draws


class GpuState(msgspec.Struct, frozen=True):
    """What a GPU, or an instance of it, is doing now; None is what cannot be read.

    ``utilization`` is the share of the last fraction of a second in which a kernel ran.
    """

    processes: tuple[GpuProcess, ...] | None
    memory_used_bytes: int | None
    utilization: float | None
    clock_reasons: frozenset[ClockReason] | None
    mig: bool = False


class Watch(Protocol):
    """Looks at GPUs from outside: no context is made, nothing runs on them, nothing is changed."""

    driver: str  # "" if unknown

    def gpus(self) -> tuple[GpuId, ...]:
        """List the GPUs, by PCI address."""

    def state(self, uuid: str) -> GpuState:
        """Look at a GPU or an instance of one. Raises DeviceLostError when it has gone."""
