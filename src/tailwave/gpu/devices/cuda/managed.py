"""Managed memory: pages that move between host and device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tailwave.gpu.devices.base import Launch, ManagedMemory, NotSupportedError, Stream
from tailwave.gpu.devices.cuda.foreign import CoreDevice, CoreManaged
from tailwave.gpu.devices.cuda.launcher import Launcher
from tailwave.gpu.devices.cuda.memory import CudaBuffer, Memory
from tailwave.gpu.devices.cuda.opening import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded
from tailwave.gpu.devices.cuda.streams import ours

# More than a GPU has free can hang it; this is small everywhere.
_MOST_BYTES = 64 * 1024 * 1024
_PAGE = 4096
_WORD_BYTES = 8
_CTAS, _THREADS = 128, 256


class Parts(NamedTuple):
    """What managed memory needs of its device."""

    libraries: Libraries
    device: CoreDevice
    launcher: Launcher
    memory: Memory


class CudaManaged:
    """Memory that moves between host and device by page."""

    def __init__(self, parts: Parts, core: CoreManaged, pages: CudaBuffer) -> None:
        """Take managed memory of cuda-core, and a word where the kernel counts pages."""
        self._parts = parts
        self._core = core
        self._pages = pages

    def touch_on_host(self) -> None:
        """Write every page on the host, so that all of it is there."""
        pages = (ctypes.c_uint8 * self._core.size).from_address(int(self._core.handle))
        for offset in range(0, self._core.size, _PAGE):
            pages[offset] = 1

    def touch_on_device(self, stream: Stream) -> None:
        """Read every page in a kernel."""
        args = (self._pages, int(self._core.handle), self._core.size // _WORD_BYTES)
        self._parts.launcher.launch(ours(stream).handle, Launch("touch", _CTAS, _THREADS, args))

    def prefetch(self, stream: Stream, *, to_device: bool) -> None:
        """Ask for all pages to be moved."""
        where = self._parts.device if to_device else self._parts.libraries.core.Host()
        with guarded("prefetching managed memory"):
            self._core.prefetch(where, stream=ours(stream).core)

    def advise_preferred_device(self) -> None:
        """Advise that the pages should live on the device."""
        with guarded("advising on managed memory"):
            self._core.preferred_location = self._parts.device


@contextmanager
def managed(parts: Parts, nbytes: int) -> Iterator[ManagedMemory]:
    """Take managed memory; raises NotSupportedError above 64 MiB."""
    if nbytes > _MOST_BYTES:
        raise NotSupportedError(f"Managed memory is limited to {_MOST_BYTES} bytes here.")
    driver = parts.libraries.driver
    code, address = driver.cuMemAllocManaged(
        nbytes, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value
    )
    checked(code, "taking managed memory")
    core = parts.libraries.core.ManagedBuffer.from_handle(int(address), nbytes)
    pages = parts.memory.take(1)
    try:
        yield CudaManaged(parts, core, pages)
    finally:
        pages.free()  # which waits for all work
        (code,) = driver.cuMemFree(address)
        checked(code, "giving managed memory back")
