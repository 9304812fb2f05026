"""What a recording holds: host, GPU and waits of one process, as columns."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.arrays import Bytes, Ints, SmallInts
from tailwave.model.values import CountOrUnknown, TextOrUnknown


class HostKind(enum.IntEnum):
    """What a row of the host table is."""

    OPERATOR = 0  # a framework operator (Kineto's cpu_op)
    RUNTIME = 1  # a call of the CUDA or HIP runtime or driver
    PYTHON = 2  # a Python frame (python_function, with_stack=True)
    ANNOTATION = 3  # record_function, NVTX, ProfilerStep#n


class GpuKind(enum.IntEnum):
    """What a row of the GPU table is."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2


class Thread(msgspec.Struct, frozen=True):
    """One host thread: the process and thread ids as the recorder wrote them, and its name."""

    pid: str
    tid: str
    name: str = ""


class DeviceInfo(msgspec.Struct, frozen=True):
    """A GPU's fixed properties, as the recorder wrote them.

    Attributes:
        index: The recorder's number of it.
        name: As the driver says it.
        sm_count: Its SMs.
        compute_major: Of its compute capability.
        compute_minor: Of its compute capability, where that is known.
        warp_size: Threads of a warp.
        max_threads_per_sm: Threads that an SM holds at once.
        registers_per_sm: 32-bit registers.
        shared_per_sm: Bytes of shared memory.
        shared_per_block_optin: Bytes of shared memory that a CTA can ask for.
    """

    index: int
    name: TextOrUnknown = ""
    sm_count: CountOrUnknown = 0
    compute_major: CountOrUnknown = 0
    compute_minor: int = 0
    warp_size: int = 32
    max_threads_per_sm: CountOrUnknown = 0
    registers_per_sm: CountOrUnknown = 0
    shared_per_sm: CountOrUnknown = 0
    shared_per_block_optin: CountOrUnknown = 0

    @property
    def capability(self) -> str:
        """Its compute capability: ``CC 9.0``; "" where that is not known."""
        return f"CC {self.compute_major}.{self.compute_minor}" if self.compute_major else ""

    @property
    def words(self) -> str:
        """What is known of it: its name, else its compute capability, and how many SMs it has."""
        sms = f"{self.sm_count} SMs" if self.sm_count else ""
        return ", ".join(filter(None, (self.name or self.capability or "unknown", sms)))


class HostTable(msgspec.Struct, frozen=True):
    """What host threads did: one row per operator, runtime call, Python frame or annotation.

    Rows are sorted by start, the enclosing row before the enclosed one.
    """

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # index into Timeline.names
    kind: Bytes  # HostKind
    thread: SmallInts  # index into Timeline.threads
    correlation: Ints  # links a runtime call to GPU rows; -1 for none

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class GpuTable(msgspec.Struct, frozen=True):
    """What the GPUs did: one row per kernel, copy or memset, sorted by start."""

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # index into Timeline.names
    kind: Bytes  # GpuKind
    device: SmallInts  # the recorder's device index
    stream: Ints  # the recorder's stream id, unique within a device
    correlation: Ints  # the runtime call that launched the row; -1 for none
    launch: Ints  # row of the host table that launched it; -1 if that call is not recorded
    grid: Ints  # CTAs in the grid, x * y * z; -1 if unknown
    block: SmallInts  # threads in a CTA; -1 if unknown
    registers: SmallInts  # registers per thread; -1 if unknown
    shared: Ints  # static and dynamic shared memory per CTA, bytes; -1 if unknown
    bytes: Ints  # bytes moved by a copy or memset; -1 if unknown
    graph_node: Ints  # CUDA-graph node id; -1 when not launched by a graph, or not recorded

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class WaitTable(msgspec.Struct, frozen=True):
    """Dependencies that the recorder saw (Kineto's cuda_sync): who waited for which stream."""

    start: Ints  # ns
    end: Ints  # ns
    name: SmallInts  # "Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync"
    device: SmallInts
    stream: Ints  # the waiting stream; -1 when the host waits
    source_stream: Ints  # the stream waited for; -1 if unknown
    correlation: Ints  # the runtime call that asked for the wait
    record_correlation: Ints  # the call that recorded the event waited for; -1 if unknown

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.start)


class Timeline(msgspec.Struct, frozen=True):
    """One rank's recording: what its host threads and its GPUs did, in columns.

    ``recorded_from`` and ``recorded_to`` bound the recorder's own window (ns), or are both 0
    when the recorder did not say. ``plain_step_us`` is the step as it was measured without the
    recorder (us), where the file says it. ``notes`` holds what the reader had to leave out or
    repair.
    """

    names: tuple[str, ...]
    threads: tuple[Thread, ...]
    devices: tuple[DeviceInfo, ...]
    host: HostTable
    gpu: GpuTable
    waits: WaitTable
    kind: str  # the recorder: "kineto", "nsys", "record", "jax", "onnxruntime", "sim"
    path: str
    rank: int = 0
    world_size: int = 1
    events: int = 0  # events read from the file
    recorded_from: int = 0
    recorded_to: int = 0
    plain_step_us: float = 0.0
    notes: tuple[str, ...] = ()
