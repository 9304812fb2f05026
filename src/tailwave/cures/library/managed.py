"""Managed memory with a home: pages that move between host and GPU when asked, not by fault."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock
from typing import Final

from tailwave.cures.library.closing import Closing
from tailwave.cures.library.frameworks import current_handle, handle_of
from tailwave.cures.library.gpu import Gpu, called, on_current_gpu, on_gpu
from tailwave.errors import UnavailableError, UsageError
from tailwave.gpu import Feature
from tailwave.gpu.devices.cuda import guarded

# Managed memory beyond what the GPU has free evicts pages without end, and can hang the GPU for
# every process on it. The tenth that stays free is for what frameworks take in the meantime.
_SHARE_OF_FREE: Final = 0.9
_MOST_BYTES: Final = 64 << 30

_SIDES: Final = ("device", "host")
_HOST: Final = -1  # CU_DEVICE_CPU, with which drivers before CUDA 13 name the host
_LOCATIONS_FROM: Final = 13  # the major version from which on places are CUmemLocation


class _OpenBytes:
    """The bytes of managed memory that are open, by GPU: pages not yet touched are still free."""

    def __init__(self) -> None:
        """Have none."""
        self._lock = Lock()
        self._bytes: dict[int, int] = {}

    def add(self, number: int, nbytes: int, most: int) -> None:
        """Count bytes; raises UnavailableError when with the others they are too many."""
        with self._lock:
            others = self._bytes.get(number, 0)
            if others + nbytes > most:
                raise UnavailableError(
                    f"{nbytes} bytes of managed memory are too many beside the {others} that are "
                    f"open: {most} in all is the most here, for managed memory beyond what the "
                    "GPU has free can hang it. Ask for less, or free memory first."
                )
            self._bytes[number] = others + nbytes

    def remove(self, number: int, nbytes: int) -> None:
        """Count bytes no more."""
        with self._lock:
            self._bytes[number] -= nbytes


_OPEN: Final = _OpenBytes()


class Managed(Closing):
    """Bytes that host and GPU both reach by one address, until `close` or the end of its `with`.

    Torch and CuPy take it as an array of bytes: ``torch.as_tensor(memory, device="cuda")``.
    """

    def __init__(self, gpu: Gpu, nbytes: int) -> None:
        """Take memory on a GPU."""
        self.nbytes = nbytes
        self._device = gpu.number
        with ExitStack() as stack:
            _OPEN.add(gpu.number, nbytes, _most(gpu))
            stack.callback(_OPEN.remove, gpu.number, nbytes)
            attach = gpu.driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value
            take = gpu.driver.cuMemAllocManaged
            (address,) = called("taking managed memory", take, nbytes, attach)
            stack.pop_all()
        self._address: int | None = int(address)

    @property
    def ptr(self) -> int:
        """Its address; raises UsageError once closed."""
        if self._address is None:
            raise UsageError("This managed memory is closed: use it inside its `with`.")
        return self._address

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Describe it as an array of bytes."""
        return {
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "data": (self.ptr, False),
            "strides": None,
            "version": 3,
        }

    def prefetch(self, to: str, stream: object = None) -> None:
        """Move all pages to the "device" or the "host", in the order of a stream.

        Without one, in that of the current stream.
        """
        _check_side(to)
        with on_gpu(self._device) as gpu:
            handle = current_handle() if stream is None else handle_of(stream)
            flags = (0,) if gpu.libraries.toolkit[0] >= _LOCATIONS_FROM else ()
            pages = (self.ptr, self.nbytes, _place(gpu, to))
            prefetch = gpu.driver.cuMemPrefetchAsync
            called("prefetching managed memory", prefetch, *pages, *flags, handle)

    def close(self) -> None:
        """Wait for the GPU, then give it back; a second time does nothing."""
        address, self._address = self._address, None
        if address is None:
            return
        with on_gpu(self._device) as gpu, ExitStack() as stack:
            stack.callback(_OPEN.remove, gpu.number, self.nbytes)
            free = gpu.driver.cuMemFree
            stack.callback(called, "giving managed memory back", free, address)
            with guarded("waiting for the GPU"):
                gpu.core.sync()


def managed(nbytes: int, home: str = "device", *, read_mostly: bool = False) -> Managed:
    """Take managed memory whose pages live on the "device" or the "host".

    They move when asked, not by fault. Pages at home on the host are read by the GPU over the link,
    where they stay; those at home on the device return there. With ``read_mostly`` both keep
    copies, until one writes. At most nine
    tenths of the GPU's free memory, and 64 GiB, can be had, together with what is still open.

    Raises UsageError for what is no size or home, and UnavailableError, with what to do next, for
    more than that and where the GPU does not move managed memory by page.
    """
    if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes <= 0:
        raise UsageError(f"Managed memory has a number of bytes above 0, not {nbytes!r}.")
    _check_side(home)
    with on_current_gpu() as gpu:
        gpu.require(Feature.MANAGED)
        memory = Managed(gpu, nbytes)
        with ExitStack() as stack:
            stack.callback(memory.close)
            _advise(gpu, memory, home, read_mostly=read_mostly)
            stack.pop_all()
        return memory


def _advise(gpu: Gpu, memory: Managed, home: str, *, read_mostly: bool) -> None:
    """Say where pages live; those of the host stay mapped on the GPU, which else moves them."""
    advice = [("PREFERRED_LOCATION", home)]
    if home == "host":
        advice.append(("ACCESSED_BY", "device"))
    if read_mostly:
        advice.append(("READ_MOSTLY", "device"))  # for which any place will do
    for name, side in advice:
        kind = getattr(gpu.driver.CUmem_advise, f"CU_MEM_ADVISE_SET_{name}")
        pages = (memory.ptr, memory.nbytes)
        called(
            "advising on managed memory", gpu.driver.cuMemAdvise, *pages, kind, _place(gpu, side)
        )


def _place(gpu: Gpu, side: str) -> object:
    """Return a side as the driver names it."""
    number = gpu.number if side == "device" else _HOST
    if gpu.libraries.toolkit[0] < _LOCATIONS_FROM:
        return number
    location = gpu.driver.CUmemLocation()
    kind = "DEVICE" if side == "device" else "HOST"
    location.type = getattr(gpu.driver.CUmemLocationType, f"CU_MEM_LOCATION_TYPE_{kind}")
    location.id = max(number, 0)  # which is not looked at for the host
    return location


def _most(gpu: Gpu) -> int:
    free, _ = called("asking for the free memory", gpu.driver.cuMemGetInfo)
    return min(_MOST_BYTES, int(free * _SHARE_OF_FREE))


def _check_side(side: str) -> None:
    if side not in _SIDES:
        raise UsageError(f"Managed memory is on the 'device' or the 'host', not {side!r}.")
