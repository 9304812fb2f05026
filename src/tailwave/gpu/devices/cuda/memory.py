"""Device memory from the driver's pool, the buffers of copies, and managed memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tailwave.gpu.devices.base import Words
from tailwave.gpu.devices.cuda.foreign import CoreBuffer, CoreDevice, CoreStream
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded

_WORD_BYTES = 8


class Memory:
    """The memory of one device."""

    def __init__(self, libraries: Libraries, device: CoreDevice, stream: CoreStream) -> None:
        """Take a stream on which memory is taken, zeroed and given back."""
        self._libraries = libraries
        self._device = device
        self._stream = stream

    def take(self, words: int) -> CudaBuffer:
        """Take zeroed memory; raises NotSupportedError when there is not enough."""
        size = max(words, 1) * _WORD_BYTES
        with guarded(f"taking {size} bytes of device memory"):
            core = self._device.allocate(size, stream=self._stream)
            core.fill(0, stream=self._stream)
            self._stream.sync()
        return CudaBuffer(self, core, words)

    def free_bytes(self) -> int:
        """Return the device memory that is free now."""
        code, free, _ = self._libraries.driver.cuMemGetInfo()
        checked(code, "asking for the free memory")
        return int(free)

    def total_bytes(self) -> int:
        """Return the device memory there is."""
        code, _, total = self._libraries.driver.cuMemGetInfo()
        checked(code, "asking for the memory")
        return int(total)

    def load(self, address: int, words: int) -> Words:
        """Copy words to the host, after all work before."""
        values = np.empty(words, dtype=np.uint64)
        self.settle()
        (code,) = self._libraries.driver.cuMemcpyDtoH(values.ctypes.data, address, values.nbytes)
        checked(code, "copying from the device")
        return values

    def store(self, address: int, values: Words) -> None:
        """Copy words from the host, after all work before and before any after."""
        self.settle()
        (code,) = self._libraries.driver.cuMemcpyHtoD(address, values.ctypes.data, values.nbytes)
        checked(code, "copying to the device")
        self.settle()  # a copy of pageable memory may return while the last of it is on its way

    def give(self, core: CoreBuffer) -> None:
        """Give memory back, once nothing uses it any more."""
        self.settle()
        with guarded("giving memory back"):
            core.close(self._stream)

    def settle(self) -> None:
        """Wait for all work."""
        with guarded("waiting for the GPU"):
            self._device.sync()


class CudaBuffer:
    """Device memory holding 64-bit words."""

    def __init__(self, memory: Memory, core: CoreBuffer, words: int) -> None:
        """Take memory of cuda-core."""
        self.words = words
        self.address = int(core.handle)
        self._memory = memory
        self._core = core

    def read(self) -> Words:
        """Copy the words to the host, after all work before has finished."""
        return self._memory.load(self.address, self.words)

    def write(self, values: Words) -> None:
        """Copy words from the host, before any work after; ValueError for more than fit."""
        if len(values) > self.words:
            raise ValueError(f"{len(values)} words do not fit into {self.words}")
        self._memory.store(self.address, np.ascontiguousarray(values, dtype=np.uint64))

    def free(self) -> None:
        """Give the memory back; the buffer must not be used again."""
        self._memory.give(self._core)


class Copies:
    """The buffers of copies, one of each kind, as large as the largest copy so far."""

    def __init__(self, libraries: Libraries, device: CoreDevice, stream: CoreStream) -> None:
        """Take a stream on which buffers are made; none is yet."""
        self._libraries = libraries
        self._device = device
        self._stream = stream
        self._on_device: tuple[int, CoreBuffer] | None = None
        self._pinned: tuple[int, CoreBuffer] | None = None
        self._pageable: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def enqueue(self, stream: CoreStream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Enqueue a copy; raises NotSupportedError when there is not enough memory for it."""
        device = self._device_address(nbytes)
        host = self._pinned_address(nbytes) if pinned else self._pageable_address(nbytes)
        driver = self._libraries.driver
        if to_device:
            (code,) = driver.cuMemcpyHtoDAsync(device, host, nbytes, stream.handle)
        else:
            (code,) = driver.cuMemcpyDtoHAsync(host, device, nbytes, stream.handle)
        checked(code, "copying")

    def close(self) -> None:
        """Give the buffers back."""
        for held in (self._on_device, self._pinned):
            if held is not None:
                held[1].close(self._stream)
        self._on_device = self._pinned = None

    def _device_address(self, nbytes: int) -> int:
        if self._on_device is None or self._on_device[0] < nbytes:
            with guarded("taking device memory for copies"):
                taken = self._device.allocate(nbytes, stream=self._stream)
                self._stream.sync()
            self._on_device = (nbytes, taken)
        return int(self._on_device[1].handle)

    def _pinned_address(self, nbytes: int) -> int:
        if self._pinned is None or self._pinned[0] < nbytes:
            with guarded("taking pinned host memory"):
                taken = self._libraries.core.LegacyPinnedMemoryResource().allocate(nbytes)
            self._pinned = (nbytes, taken)
        return int(self._pinned[1].handle)

    def _pageable_address(self, nbytes: int) -> int:
        if self._pageable.nbytes < nbytes:
            # Filled with something else than 0, so that the pages are there and differ.
            self._pageable = np.full(nbytes, 1, dtype=np.uint8)
        return self._pageable.ctypes.data
