"""Launches kernels: finds them, asks for their shared memory and clusters, passes arguments.

Launches go to the driver directly. cuda-core packs the arguments anew each time, at some 15 ns for
each, which would be measured with the launch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple, TypeAlias

from tailwave.gpu.devices.base import Launch, NotSupportedError, Stream
from tailwave.gpu.devices.cuda.compiler import Compiler
from tailwave.gpu.devices.cuda.foreign import (
    CoreGraph,
    CoreKernel,
    CoreStream,
    Handle,
    LaunchConfig,
)
from tailwave.gpu.devices.cuda.memory import CudaBuffer
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded
from tailwave.gpu.devices.cuda.streams import ours
from tailwave.model import DeviceFacts

_PORTABLE_CLUSTER = 8  # the largest cluster that every GPU with clusters takes unasked
_LARGEST_CLUSTER = 16
_UNASKED_SHARED = 48 * 1024  # the most shared memory that a CTA gets unasked

_Shape: TypeAlias = tuple[str, int, int, int, int]


class _Kernel(NamedTuple):
    """A kernel with its attributes set, and how it is launched."""

    function: object
    config: LaunchConfig


class _Call(NamedTuple):
    """A launch with its arguments as the driver takes them."""

    launch: Launch
    ready: _Kernel
    words: ctypes.Array[ctypes.c_uint64]
    pointers: ctypes.Array[ctypes.c_void_p]


class Launcher:
    """Launches the kernels of one device, each shape prepared once."""

    def __init__(
        self, libraries: Libraries, number: int, compiler: Compiler, facts: DeviceFacts
    ) -> None:
        """Take the device's number and facts."""
        self._driver = libraries.driver
        self._device = libraries.driver.CUdevice(number)
        self._compiler = compiler
        self._facts = facts
        self._ready: dict[_Shape, _Kernel] = {}
        self._last: _Call | None = None

    def launch(self, handle: Handle, launch: Launch) -> None:
        """Enqueue a kernel on a stream, given by the driver's handle, or record it there."""
        packed = self._last
        if packed is None or packed.launch is not launch:  # one launch is often repeated
            packed = self._last = self._pack(launch)
        config = packed.ready.config
        config.hStream = handle
        (code,) = self._driver.cuLaunchKernelEx(
            config, packed.ready.function, ctypes.addressof(packed.pointers), 0
        )
        if code:
            checked(code, f"launching {launch.kernel}")

    def _pack(self, launch: Launch) -> _Call:
        count = len(launch.args)
        words = (ctypes.c_uint64 * count)(*map(_word, launch.args))
        first, size = ctypes.addressof(words), ctypes.sizeof(ctypes.c_uint64)
        # One at least: the address of an array of none is no address.
        pointers = (ctypes.c_void_p * max(count, 1))(*(first + size * i for i in range(count)))
        return _Call(launch, self._prepared(launch), words, pointers)

    def _prepared(self, launch: Launch) -> _Kernel:
        shape = (launch.kernel, launch.grid, launch.block, launch.shared, launch.cluster)
        if shape not in self._ready:
            self._ready[shape] = self._prepare(launch)
        return self._ready[shape]

    def _prepare(self, launch: Launch) -> _Kernel:
        kernel = self._compiler.kernel(launch.kernel)
        config: LaunchConfig = self._driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block, 1, 1
        config.sharedMemBytes = self._shared(kernel, launch.shared)
        config.attrs = [self._cluster(kernel, launch)] if launch.cluster > 1 else []
        config.numAttrs = len(config.attrs)
        return _Kernel(self._driver.CUfunction(int(kernel.handle)), config)

    def _shared(self, kernel: CoreKernel, asked: int) -> int:
        """Return the dynamic shared memory of a CTA (bytes), allowed to the kernel."""
        shared = self._most_shared(kernel) if asked < 0 else asked
        if shared > _UNASKED_SHARED:
            self._set(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES", shared)
        return shared

    def _most_shared(self, kernel: CoreKernel) -> int:
        """Return what a CTA may have (bytes) beside its static shared memory."""
        attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        code, static = self._driver.cuKernelGetAttribute(attribute, kernel.handle, self._device)
        checked(code, "asking for a kernel's shared memory")
        return self._facts.shared_per_block_optin - int(static)

    def _cluster(self, kernel: CoreKernel, launch: Launch) -> object:
        """Return the attribute that launches in clusters, those of any size allowed."""
        if launch.cluster > _LARGEST_CLUSTER or launch.grid % launch.cluster:
            raise NotSupportedError(
                f"Clusters have up to {_LARGEST_CLUSTER} CTAs, and a grid holds only whole ones."
            )
        if launch.cluster > _PORTABLE_CLUSTER:
            self._set(kernel, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
        attribute = self._driver.CUlaunchAttribute()
        kinds = self._driver.CUlaunchAttributeID
        attribute.id = kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = attribute.value.clusterDim
        size.x, size.y, size.z = launch.cluster, 1, 1
        return attribute

    def _set(self, kernel: CoreKernel, name: str, value: int) -> None:
        attribute = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        (code,) = self._driver.cuKernelSetAttribute(attribute, value, kernel.handle, self._device)
        checked(code, f"setting a kernel's attribute {name}")


def _word(argument: object) -> int:
    """Return an argument as 64 bits: a buffer's address, or the integer itself."""
    if isinstance(argument, CudaBuffer):
        return argument.address
    if isinstance(argument, int):
        return argument
    raise TypeError(f"a kernel takes buffers and integers, not {type(argument).__name__}")


class CudaGraph:
    """A recorded sequence of launches."""

    def __init__(self, core: CoreGraph, launches: tuple[Launch, ...]) -> None:
        """Keep the launches, for the graph does not keep the memory that they name."""
        self.nodes = len(launches)
        self._core = core
        self._launches = launches

    def launch(self, stream: Stream) -> None:
        """Enqueue the whole graph on a stream."""
        with guarded("launching a graph"):
            self._core.launch(ours(stream).core)


def recorded(stream: CoreStream, launcher: Launcher, launches: Sequence[Launch]) -> CudaGraph:
    """Capture launches on a stream, each after the one before, and make the graph ready."""
    with guarded("recording a graph"), closing(stream.create_graph_builder()) as builder:
        builder.begin_building()
        for launch in launches:
            launcher.launch(builder.stream.handle, launch)
        graph = builder.end_building().complete()
        graph.upload(stream)
        stream.sync()
    return CudaGraph(graph, tuple(launches))
