"""A CUDA, a torch and a CuPy that are not there, as far as the library inside a program uses them.

The CUDA is that of the devices' tests with the calls that only a program makes. What happens is
written to ``Cuda.log`` in words, in order.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.gpu.devices.cuda.fakes import (
    CUresult,
    FakeContext,
    FakeCuda,
    FakeDevice,
    FakeSms,
    FakeStream,
    fail,
    module,
    nvml,
)

if TYPE_CHECKING:
    import pytest

OK = CUresult.CUDA_SUCCESS
PRIMARY = 77  # the primary context
MIB = 1 << 20


class Stream(FakeStream):
    """A stream with a handle of its own."""

    _handles = itertools.count(1000)

    def __init__(self, cuda: Cuda, sms: range, priority: int | None) -> None:
        """Take its SMs and its priority."""
        super().__init__()
        self.handle = next(self._handles)
        self.sms = sms
        self.priority = priority
        cuda.streams[self.handle] = self
        self._cuda = cuda

    def close(self) -> None:
        """Remember that it was closed."""
        super().close()
        self._cuda.log.append("stream closed")


class Context(FakeContext):
    """A green context, whose SMs follow those of the one before."""

    def __init__(self, cuda: Cuda, sms: list[FakeSms]) -> None:
        """Take SMs."""
        super().__init__(sms)
        count = self.resources.sm.sm_count
        self.sms = range(cuda.placed, cuda.placed + count)
        cuda.placed += count
        self._cuda = cuda

    def create_stream(self, options: Any = None) -> Stream:  # noqa: ANN401  as cuda-core's
        """Make a stream."""
        fail(self._cuda.faults, "green stream")
        return Stream(self._cuda, self.sms, options.priority)

    def close(self) -> None:
        """Remember that it was closed."""
        super().close()
        self._cuda.log.append("context closed")


class Device(FakeDevice):
    """An H200 that says what is done with it."""

    def __init__(
        self, cuda: Cuda, faults: Mapping[str, str], changes: Mapping[str, object]
    ) -> None:
        """Take what it is part of."""
        super().__init__(faults, changes)
        self._cuda = cuda

    @property
    def resources(self) -> SimpleNamespace:
        """Its SMs; under MIG, those of the instance."""
        fail(self._faults, "resources")
        return SimpleNamespace(sm=FakeSms(self._cuda.sms))

    def set_current(self) -> None:
        """Make its context the thread's."""
        super().set_current()
        self._cuda.current = PRIMARY

    def create_stream(self, *, options: Any) -> Stream:  # noqa: ANN401
        """Make a stream."""
        return Stream(self._cuda, range(132), options.priority)

    def create_context(self, options: SimpleNamespace) -> Context:
        """Make a green context."""
        fail(self._faults, "create_context")
        self.contexts.append(made := Context(self._cuda, options.resources))
        return made

    def sync(self) -> None:
        """Wait for all work."""
        self._cuda.log.append("sync")
        super().sync()


class Cuda(FakeCuda):
    """The packages, made up for one test, with what a program calls."""

    def __init__(
        self,
        *,
        faults: Mapping[str, str] | None = None,
        driver: int = 13000,
        toolkit: str = "13.3.1",
        changes: Mapping[str, object] | None = None,
        sms: int = 132,
    ) -> None:
        """Take what is to go wrong, the versions, what differs from an H200, and its SMs."""
        self.log: list[str] = []
        self.streams: dict[int, Stream] = {}
        self.placed = 0
        self.current: object = None
        self.sms = sms
        self.free = 100 << 30
        self.limit = 0
        self.windows: dict[int, Any] = {}
        self.attributes_of_device = {"persisting": 48 * MIB, "window": 128 * MIB}
        self.flags = 0x18
        super().__init__(faults=faults, driver=driver, toolkit=toolkit, changes=changes)
        self.device = Device(self, self.faults, changes or {})
        vars(self.driver).update(self._contexts() | self._l2() | self._managed() | self._flags())

    def _contexts(self) -> dict[str, object]:
        def get() -> tuple[CUresult, object]:
            self._version()  # which raises where there is no driver
            return OK, self.current

        def put(context: object) -> tuple[CUresult]:
            self.current = context
            return (OK,)

        return {
            "cuInit": lambda _: (self._version()[0],),
            "cuCtxGetCurrent": get,
            "cuCtxSetCurrent": put,
            "cuCtxGetDevice": lambda: (OK, 0),
            "cuMemGetInfo": lambda: (OK, self.free, 141 << 30),
            "cuMemcpyDtoH": self._read,
        }

    def _read(self, address: int, _: int, nbytes: int) -> tuple[CUresult]:
        """Give what the kernel that was launched last writes: the SM of each CTA."""
        words = (ctypes.c_uint64 * (nbytes // 8)).from_address(address)
        sms = self.streams[self.launched.hStream].sms
        for cta in range(len(words) // 4):
            words[4 * cta] = sms[cta % len(sms)]
        return (OK,)

    def _l2(self) -> dict[str, object]:
        def put_limit(_: object, nbytes: int) -> tuple[CUresult]:
            self.limit = nbytes
            return (CUresult[self.faults.get("limit", "CUDA_SUCCESS")],)

        def put_window(stream: int, _: object, value: Any) -> tuple[CUresult]:  # noqa: ANN401
            if "window" in self.faults and value.accessPolicyWindow is not None:
                return (CUresult[self.faults["window"]],)
            self.windows[stream] = value
            return (OK,)

        def reset() -> tuple[CUresult]:
            self.log.append("lines reset")
            return (OK,)

        off = SimpleNamespace(accessPolicyWindow=None)
        return {
            "CUdevice_attribute": SimpleNamespace(
                CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE="persisting",
                CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE="window",
            ),
            "cuDeviceGetAttribute": lambda name, _: (OK, self.attributes_of_device[name]),
            "CUlimit": SimpleNamespace(CU_LIMIT_PERSISTING_L2_CACHE_SIZE=6),
            "cuCtxGetLimit": lambda _: (OK, self.limit),
            "cuCtxSetLimit": put_limit,
            "CUstreamAttrID": SimpleNamespace(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW=1),
            "CUstreamAttrValue": SimpleNamespace,
            "CUaccessPolicyWindow": SimpleNamespace,
            "CUaccessProperty": SimpleNamespace(
                CU_ACCESS_PROPERTY_PERSISTING="persisting", CU_ACCESS_PROPERTY_STREAMING="streaming"
            ),
            "cuStreamGetAttribute": lambda stream, _: (OK, self.windows.get(stream, off)),
            "cuStreamSetAttribute": put_window,
            "cuCtxResetPersistingL2Cache": reset,
        }

    def _managed(self) -> dict[str, object]:
        def told(place: object) -> str:
            return str(place) if isinstance(place, int) else f"{place.type} {place.id}"  # type: ignore[attr-defined]

        def advise(_: int, nbytes: int, kind: str, place: object) -> tuple[CUresult]:
            self.log.append(f"advise {nbytes} {kind} {told(place)}")
            return (CUresult[self.faults.get("advise", "CUDA_SUCCESS")],)

        def prefetch(_: int, nbytes: int, place: object, *more: int) -> tuple[CUresult]:
            self.log.append(f"prefetch {nbytes} {told(place)} {more}")
            return (OK,)

        def free(address: int) -> tuple[CUresult]:
            self.log.append(f"free {address}")
            return (OK,)

        return {
            "CUmemAttach_flags": SimpleNamespace(CU_MEM_ATTACH_GLOBAL=SimpleNamespace(value=1)),
            "cuMemAllocManaged": lambda *_: (
                CUresult[self.faults.get("managed", "CUDA_SUCCESS")],
                1 << 20,
            ),
            "cuMemFree": free,
            "CUmem_advise": SimpleNamespace(
                CU_MEM_ADVISE_SET_PREFERRED_LOCATION="home",
                CU_MEM_ADVISE_SET_ACCESSED_BY="mapped",
                CU_MEM_ADVISE_SET_READ_MOSTLY="mostly",
            ),
            "CUmemLocation": SimpleNamespace,
            "CUmemLocationType": SimpleNamespace(
                CU_MEM_LOCATION_TYPE_DEVICE="device", CU_MEM_LOCATION_TYPE_HOST="host"
            ),
            "cuMemAdvise": advise,
            "cuMemPrefetchAsync": prefetch,
        }

    def _flags(self) -> dict[str, object]:
        def put(_: int, flags: int) -> tuple[CUresult]:
            self.flags = flags
            return (OK,)

        return {
            "CUctx_flags": SimpleNamespace(
                CU_CTX_SCHED_SPIN=1,
                CU_CTX_SCHED_YIELD=2,
                CU_CTX_SCHED_BLOCKING_SYNC=4,
                CU_CTX_SCHED_MASK=7,
            ),
            "cuDevicePrimaryCtxGetState": lambda _: (OK, self.flags, 1),
            "cuDevicePrimaryCtxSetFlags": put,
        }


class TorchStream:
    """A stream of torch; what waits for what is written to the log."""

    _numbers = itertools.count(1)

    def __init__(self, torch: Torch, handle: int, priority: int = 0) -> None:
        """Take the torch it is part of and a handle."""
        self._torch = torch
        self.cuda_stream = handle
        self.priority = priority

    def wait_stream(self, other: TorchStream) -> None:
        """Wait for another."""
        self._torch.log.append(f"{self.cuda_stream} waits for {other.cuda_stream}")


class Torch:
    """A torch with one GPU."""

    def __init__(self) -> None:
        """Have the default stream current."""
        self.log: list[str] = []
        self.initialized = True
        self.available = True
        self.now = TorchStream(self, 0)
        self.module = module("torch", cuda=self._cuda())

    def _cuda(self) -> SimpleNamespace:
        return SimpleNamespace(
            is_initialized=lambda: self.initialized,
            is_available=lambda: self.available,
            current_device=lambda: 0,
            current_stream=lambda _=None: self.now,
            Stream=lambda: TorchStream(self, next(TorchStream._numbers)),  # noqa: SLF001
            ExternalStream=lambda handle, device: TorchStream(self, handle, -device),
            stream=self._stream,
        )

    @contextmanager
    def _stream(self, stream: TorchStream) -> Iterator[None]:
        before, self.now = self.now, stream
        try:
            yield
        finally:
            self.now = before


class CupyStream:
    """A stream of CuPy: work that was put on it is done when it is waited for."""

    def __init__(self, ptr: int = 0) -> None:
        """Have nothing to do."""
        self.ptr = ptr
        self.work: list[Any] = []
        self.done = 0

    def record(self) -> CupyEvent:
        """Note how far it must get."""
        event = CupyEvent()
        event.record(self)
        return event

    def wait_event(self, event: CupyEvent) -> None:
        """Wait for an event: at once, here."""
        event.synchronize()

    def reach(self, count: int) -> None:
        """Do work until so much is done."""
        while self.done < count:
            self.work.pop(0)()
            self.done += 1

    def synchronize(self) -> None:
        """Do all that is to do."""
        self.reach(self.done + len(self.work))


class CupyEvent:
    """A point in a stream."""

    def __init__(self, **_: object) -> None:
        """Be no point yet."""
        self._point: tuple[CupyStream, int] | None = None

    def record(self, stream: CupyStream) -> None:
        """Note how far a stream must get."""
        self._point = (stream, stream.done + len(stream.work))

    def synchronize(self) -> None:
        """Wait for it."""
        if self._point is not None:
            stream, count = self._point
            stream.reach(count)


class CupyArray:
    """An array of CuPy's whose content comes later."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Have no content."""
        self.content: np.ndarray[Any, Any] = np.zeros(shape, dtype)

    def set(self, source: np.ndarray[Any, Any], stream: CupyStream) -> None:
        """Copy when the stream gets there, from what the source is by then."""
        stream.work.append(lambda: np.copyto(self.content, source))


def cupy() -> ModuleType:
    """Make a CuPy with one GPU."""
    current = CupyStream()
    return module(
        "cupy",
        empty=CupyArray,
        cuda=SimpleNamespace(
            is_available=lambda: True,
            runtime=SimpleNamespace(getDevice=lambda: 0),
            Stream=lambda non_blocking: CupyStream(5 if non_blocking else 6),
            Event=CupyEvent,
            ExternalStream=lambda ptr, _: CupyStream(ptr),
            get_current_stream=lambda: current,
            alloc_pinned_memory=bytearray,
        ),
    )


def installed(monkeypatch: pytest.MonkeyPatch, cuda: Cuda, *, mig: bool = False) -> Cuda:
    """Put CUDA where it is imported from, and a binding of NVML that knows of MIG."""
    cuda.install(monkeypatch)
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlDeviceGetMigMode=[int(mig), 0]))
    return cuda
