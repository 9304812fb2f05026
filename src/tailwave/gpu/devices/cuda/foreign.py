"""What is used of cuda-core's objects, as types: the package itself need not be installed."""

from __future__ import annotations

from typing import Protocol


class Handle(Protocol):
    """A handle of the driver's."""

    def __int__(self) -> int:
        """Return it as a number."""


class LaunchConfig(Protocol):
    """``CUlaunchConfig``."""

    gridDimX: int  # noqa: N815  the driver's own names
    gridDimY: int  # noqa: N815
    gridDimZ: int  # noqa: N815
    blockDimX: int  # noqa: N815
    blockDimY: int  # noqa: N815
    blockDimZ: int  # noqa: N815
    sharedMemBytes: int  # noqa: N815
    hStream: Handle  # noqa: N815
    attrs: list[object]
    numAttrs: int  # noqa: N815


class CoreGraph(Protocol):
    """An executable graph."""

    def launch(self, stream: CoreStream) -> None:
        """Enqueue it."""

    def upload(self, stream: CoreStream) -> None:
        """Send it to the GPU ahead of its first launch."""


class CoreGraphBuilder(Protocol):
    """Records what is launched on its stream."""

    stream: CoreStream

    def begin_building(self) -> object:
        """Begin to record."""

    def end_building(self) -> CoreGraphBuilder:
        """End it; returns itself."""

    def complete(self) -> CoreGraph:
        """Make a graph of what was recorded."""

    def close(self) -> None:
        """Destroy it."""


class CoreStream(Protocol):
    """A stream."""

    handle: Handle

    def sync(self) -> None:
        """Wait for it."""

    def close(self) -> None:
        """Destroy it."""

    def create_graph_builder(self) -> CoreGraphBuilder:
        """Make a builder that records what is launched on its stream."""


class CoreSms(Protocol):
    """SMs of a device, or of a part of it."""

    sm_count: int
    min_partition_size: int
    coscheduled_alignment: int

    def split(self, options: object) -> tuple[list[CoreSms], CoreSms]:
        """Split into groups and what remains."""


class CoreResources(Protocol):
    """What a device or a context has."""

    sm: CoreSms


class CoreContext(Protocol):
    """A green context."""

    resources: CoreResources

    def create_stream(self, options: object = None) -> CoreStream:
        """Make a stream whose work stays on the context's SMs."""

    def close(self) -> None:
        """Destroy it."""


class CoreKernel(Protocol):
    """A kernel."""

    handle: Handle


class CoreObjectCode(Protocol):
    """Compiled code."""

    code: bytes

    def get_kernel(self, name: str) -> CoreKernel:
        """Return a kernel by its name, loaded on the GPU when first used."""


class CoreBuffer(Protocol):
    """Device memory."""

    handle: Handle

    def fill(self, value: int, *, stream: CoreStream) -> None:
        """Fill with a byte."""

    def close(self, stream: CoreStream) -> None:
        """Give it back once the stream's work is done."""


class CoreManaged(Protocol):
    """Managed memory."""

    handle: Handle
    size: int
    preferred_location: object

    def prefetch(self, location: object, *, stream: CoreStream) -> None:
        """Ask for its pages to be moved."""


class CoreProperties(Protocol):
    """A device's attributes."""

    multiprocessor_count: int
    compute_capability_major: int
    compute_capability_minor: int
    clock_rate: int  # kHz
    l2_cache_size: int
    max_shared_memory_per_multiprocessor: int
    max_shared_memory_per_block_optin: int
    max_threads_per_multiprocessor: int
    stream_priorities_supported: bool
    cluster_launch: bool
    managed_memory: bool
    concurrent_managed_access: bool
    mps_enabled: bool


class CoreDevice(Protocol):
    """A device."""

    device_id: int
    name: str
    uuid: str
    pci_bus_id: str
    properties: CoreProperties
    resources: CoreResources

    def set_current(self) -> object:
        """Make its primary context this thread's."""

    def create_stream(self, *, options: object) -> CoreStream:
        """Make a stream."""

    def create_context(self, options: object) -> CoreContext:
        """Make a green context."""

    def allocate(self, size: int, *, stream: CoreStream) -> CoreBuffer:
        """Take device memory."""

    def sync(self) -> None:
        """Wait for all its work."""
