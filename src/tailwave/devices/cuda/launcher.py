"""Launches kernels: finds them, asks for their shared memory and clusters, passes arguments."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tailwave.devices.base import Launch, NotSupportedError
from tailwave.devices.cuda.compiler import Compiler
from tailwave.devices.cuda.foreign import CoreKernel, CoreQueue
from tailwave.devices.cuda.libraries import Libraries
from tailwave.devices.cuda.memory import CudaBuffer
from tailwave.devices.cuda.refusals import checked, guarded
from tailwave.model import DeviceFacts

_PORTABLE_CLUSTER = 8  # the largest cluster that every GPU with clusters takes unasked
_LARGEST_CLUSTER = 16
_UNASKED_SHARED = 48 * 1024  # the most shared memory that a CTA gets unasked

_Shape: TypeAlias = tuple[str, int, int, int, int]


class _Ready(NamedTuple):
    """A kernel with its attributes set, and how it is launched."""

    kernel: CoreKernel
    config: object


class Launcher:
    """Launches the kernels of one device, each shape prepared once."""

    def __init__(
        self, libraries: Libraries, number: int, compiler: Compiler, facts: DeviceFacts
    ) -> None:
        """Take the device's number and facts."""
        self._libraries = libraries
        self._number = number
        self._compiler = compiler
        self._facts = facts
        self._ready: dict[_Shape, _Ready] = {}

    def launch(self, queue: CoreQueue, launch: Launch) -> None:
        """Enqueue a kernel on a stream, or record it with a graph builder."""
        shape = (launch.kernel, launch.grid, launch.block, launch.shared, launch.cluster)
        ready = self._ready.get(shape)
        if ready is None:
            ready = self._ready[shape] = self._prepare(launch)
        words = [arg.address if isinstance(arg, CudaBuffer) else arg for arg in launch.args]
        with guarded(f"launching {launch.kernel}"):
            self._libraries.core.launch(queue, ready.config, ready.kernel, *words)

    def _prepare(self, launch: Launch) -> _Ready:
        kernel = self._compiler.kernel(launch.kernel)
        if launch.cluster > 1:
            self._allow_cluster(kernel, launch)
        shared = self._most_shared(kernel) if launch.shared < 0 else launch.shared
        if shared > _UNASKED_SHARED:
            self._set(kernel, "MAX_DYNAMIC_SHARED_SIZE_BYTES", shared)
        config = self._libraries.core.LaunchConfig(
            # cuda-core counts clusters where there are any
            grid=launch.grid // launch.cluster,
            cluster=launch.cluster if launch.cluster > 1 else None,
            block=launch.block,
            shmem_size=shared,
        )
        return _Ready(kernel, config)

    def _allow_cluster(self, kernel: CoreKernel, launch: Launch) -> None:
        if launch.cluster > _LARGEST_CLUSTER or launch.grid % launch.cluster:
            raise NotSupportedError(
                f"Clusters have up to {_LARGEST_CLUSTER} CTAs, and a grid holds only whole ones."
            )
        if launch.cluster > _PORTABLE_CLUSTER:
            self._set(kernel, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _most_shared(self, kernel: CoreKernel) -> int:
        """Return the dynamic shared memory that a CTA may have (bytes), beside its static part."""
        driver = self._libraries.driver
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        code, static = driver.cuKernelGetAttribute(attribute, kernel.handle, self._device())
        checked(code, "asking for a kernel's shared memory")
        return self._facts.shared_per_block_optin - int(static)

    def _set(self, kernel: CoreKernel, name: str, value: int) -> None:
        driver = self._libraries.driver
        attribute = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        (code,) = driver.cuKernelSetAttribute(attribute, value, kernel.handle, self._device())
        checked(code, f"setting a kernel's attribute {name}")

    def _device(self) -> object:
        return self._libraries.driver.CUdevice(self._number)
