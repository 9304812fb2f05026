"""Copies between host and device, from and to buffers that are made once and kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tailwave.gpu.devices.cuda.foreign import CoreBuffer, CoreDevice, CoreStream
from tailwave.gpu.devices.cuda.libraries import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded


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
