"""A CUDA that is not there: the foreign packages as far as the backend uses them, and their faults.

``installed`` puts it where the backend imports from. A fault is the name of a ``CUresult`` for the
step at which it is to be raised.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class CUresult(enum.IntEnum):
    """Some codes of the driver."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_PERMITTED = 800


class CUDAError(Exception):
    """What cuda-core raises: its text begins with the code's name."""


class FakeStream:
    """A stream that does nothing."""

    def __init__(self) -> None:
        """Have no handle to speak of."""
        self.handle = 7
        self.closed = False

    def sync(self) -> None:
        """Wait for nothing."""

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


class FakeSms:
    """SMs that split as a driver before CUDA 13.1 splits them: equally."""

    min_partition_size = 8
    coscheduled_alignment = 8

    def __init__(self, sm_count: int) -> None:
        """Take a number of SMs."""
        self.sm_count = sm_count

    def split(self, options: SimpleNamespace) -> tuple[list[FakeSms], FakeSms]:
        """Split off equal groups."""
        sizes = set(options.count)
        if len(sizes) > 1:
            raise NotImplementedError("equal counts only")
        taken = sum(options.count)
        return [FakeSms(count) for count in options.count], FakeSms(self.sm_count - taken)


class FakeContext:
    """A green context."""

    def __init__(self, sms: list[FakeSms]) -> None:
        """Take SMs."""
        self.resources = SimpleNamespace(sm=FakeSms(sum(one.sm_count for one in sms)))
        self.stream = FakeStream()
        self.closed = False

    def create_stream(self) -> FakeStream:
        """Make its stream."""
        return self.stream

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


class FakeDevice:
    """An H200, unless told otherwise."""

    device_id = 0
    name = "NVIDIA H200"
    uuid = "00000000-0000-0000-0000-000000000000"
    pci_bus_id = "0000:01:00.0"

    def __init__(self, faults: Mapping[str, str], changes: Mapping[str, object]) -> None:
        """Take the steps that fail and the properties that differ."""
        self._faults = faults
        self.properties = SimpleNamespace(**{**_PROPERTIES, **changes})
        self.contexts: list[FakeContext] = []

    @property
    def resources(self) -> SimpleNamespace:
        """Its SMs."""
        fail(self._faults, "resources")
        return SimpleNamespace(sm=FakeSms(132))

    def set_current(self) -> None:
        """Make its context."""
        fail(self._faults, "set_current")

    def create_stream(self, *, options: object) -> FakeStream:
        """Make a stream."""
        del options
        return FakeStream()

    def create_context(self, options: SimpleNamespace) -> FakeContext:
        """Make a green context."""
        self.contexts.append(FakeContext(options.resources))
        return self.contexts[-1]

    def allocate(self, size: int, *, stream: FakeStream) -> SimpleNamespace:
        """Take memory."""
        del size, stream
        fail(self._faults, "allocate")
        nothing = {"fill": lambda *_, **__: None, "close": lambda *_: None}
        return SimpleNamespace(handle=4096, **nothing)

    def sync(self) -> None:
        """Wait for all work."""
        fail(self._faults, "sync")


_PROPERTIES = {
    "multiprocessor_count": 132,
    "compute_capability_major": 9,
    "compute_capability_minor": 0,
    "clock_rate": 1_980_000,
    "l2_cache_size": 60 << 20,
    "max_shared_memory_per_multiprocessor": 233_472,
    "max_shared_memory_per_block_optin": 232_448,
    "max_threads_per_multiprocessor": 2048,
    "stream_priorities_supported": True,
    "cluster_launch": True,
    "managed_memory": True,
    "concurrent_managed_access": True,
    "mps_enabled": False,
}


def fail(faults: Mapping[str, str], step: str) -> None:
    """Raise what is to go wrong at a step."""
    if step in faults:
        raise CUDAError(f"{faults[step]}: as the driver explains it")


class FakeCuda:
    """The packages, made up for one test."""

    def __init__(
        self,
        *,
        faults: Mapping[str, str] | None = None,
        driver: int = 13000,
        toolkit: str = "13.3.1",
        changes: Mapping[str, object] | None = None,
    ) -> None:
        """Take what is to go wrong, the versions, and the properties that differ from an H200."""
        self.faults = dict(faults or {})
        self.device = FakeDevice(self.faults, changes or {})
        self.driver_version = driver
        self.core = module("cuda.core", **self._core())
        self.driver = module("cuda.bindings.driver", **self._driver())
        self.bindings = module("cuda.bindings", __version__=toolkit)

    def _core(self) -> dict[str, object]:
        return {
            "Device": self._device,
            "StreamOptions": SimpleNamespace,
            "SMResourceOptions": SimpleNamespace,
            "ContextOptions": SimpleNamespace,
            "ProgramOptions": SimpleNamespace,
            "Program": self._program,
        }

    def _driver(self) -> dict[str, object]:
        return {
            "cuDriverGetVersion": self._version,
            "cuMemGetInfo": lambda: (CUresult.CUDA_SUCCESS, 100 << 30, 141 << 30),
            "cuCtxGetStreamPriorityRange": lambda: (CUresult.CUDA_SUCCESS, 0, -5),
            "cuLaunchKernelEx": self._launch,
            "cuKernelGetAttribute": lambda *_: (CUresult.CUDA_SUCCESS, 1024),
            "cuKernelSetAttribute": self._set_attribute,
            "CUdevice": int,
            "CUfunction": int,
            "CUlaunchConfig": SimpleNamespace,
            "CUlaunchAttribute": lambda: SimpleNamespace(
                value=SimpleNamespace(clusterDim=SimpleNamespace())
            ),
            "CUlaunchAttributeID": SimpleNamespace(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4),
            "CUfunction_attribute": SimpleNamespace(
                CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES="static",
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic",
                CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED="non-portable",
            ),
        }

    def _device(self, number: int) -> FakeDevice:
        fail(self.faults, "Device")
        if number > 0:
            raise ValueError("device_id must be within [0, 1)")
        return self.device

    def _program(self, *_: object) -> SimpleNamespace:
        fail(self.faults, "Program")
        kernel = SimpleNamespace(handle=1)
        code = SimpleNamespace(code=b"", get_kernel=lambda _: kernel)
        return SimpleNamespace(compile=lambda _: code)

    def _version(self) -> tuple[CUresult, int]:
        if "load" in self.faults:
            raise RuntimeError('"cuda" is an NVIDIA driver library and cannot be found')
        return CUresult.CUDA_SUCCESS, self.driver_version

    def _launch(self, config: SimpleNamespace, *_: object) -> tuple[CUresult]:
        self.launched = SimpleNamespace(**vars(config))
        return (CUresult[self.faults.get("launch", "CUDA_SUCCESS")],)

    def _set_attribute(self, name: str, value: int, *_: object) -> tuple[CUresult]:
        self.attributes = {**getattr(self, "attributes", {}), name: value}
        return (CUresult.CUDA_SUCCESS,)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the packages where the backend imports from."""
        monkeypatch.setitem(sys.modules, "cuda", module("cuda"))
        for one in (self.core, self.bindings, self.driver):
            monkeypatch.setitem(sys.modules, one.__name__, one)


def module(name: str, **content: object) -> ModuleType:
    """Make a module."""
    made = ModuleType(name)
    vars(made).update(content)
    return made


class NVMLError(Exception):
    """What NVML's binding raises: ``value`` is its code."""

    def __init__(self, value: int, text: str) -> None:
        """Take a code and its words."""
        super().__init__(text)
        self.value = value


NO_PERMISSION, GPU_IS_LOST, NOT_SUPPORTED, LIBRARY_NOT_FOUND = 4, 15, 3, 12


def nvml(**changes: object) -> ModuleType:
    """Make a binding of NVML that answers for one H200; an answer that is an error is raised."""
    answers: dict[str, object] = {
        "nvmlInit": None,
        "nvmlDeviceGetHandleByPciBusId": "handle",
        "nvmlSystemGetDriverVersion": "580.159.04",
        "nvmlDeviceGetUUID": "GPU-1",
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetCurrPcieLinkGeneration": 5,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        **changes,
    }

    def answering(answer: object) -> object:
        def call(*_: object) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    calls = {name: answering(answer) for name, answer in answers.items()}
    codes = {"NVML_ERROR_NO_PERMISSION": NO_PERMISSION, "NVML_ERROR_GPU_IS_LOST": GPU_IS_LOST}
    return module("pynvml", NVMLError=NVMLError, NVML_CLOCK_SM=1, **codes, **calls)
