"""The watch: what NVML says of GPUs, what it does not say, and where there is nothing to ask."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tailwave.errors import UnavailableError
from tailwave.gpu.devices import open_watch as open_by_name
from tailwave.gpu.devices.base import (
    ClockReason,
    DeviceLostError,
    GpuId,
    GpuProcess,
    GpuState,
    NotSupportedError,
)
from tailwave.gpu.devices.cuda.watch import NvmlWatch, open_watch
from tests.gpu.devices.cuda.fakes import (
    GPU_IS_LOST,
    LIBRARY_NOT_FOUND,
    NOT_SUPPORTED,
    NVMLError,
    nvml,
)

_UNSUPPORTED = NVMLError(NOT_SUPPORTED, "Not Supported")


def process(pid: int, memory: int | None = 1 << 30) -> SimpleNamespace:
    """A process as NVML lists it."""
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


def module(**changes: object) -> ModuleType:
    """A binding that answers for one idle H200."""
    answers: dict[str, object] = {
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": "handle",
        "nvmlDeviceGetHandleByUUID": "handle",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetMPSComputeRunningProcesses": [],
        "nvmlDeviceGetGraphicsRunningProcesses": [],
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=4 << 20),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=0),
        "nvmlDeviceGetCurrentClocksEventReasons": 1,
        **changes,
    }
    made = nvml(**answers)
    vars(made)["nvmlMemory_v2"] = 0x02000028
    return made


def state(**changes: object) -> GpuState:
    """What the watch makes of some answers."""
    return NvmlWatch(module(**changes)).state("GPU-1")


def by_handle(answers: dict[object, object]) -> Callable[..., object]:
    """An answer that depends on whom is asked for."""
    return lambda *asked: answers[asked[-1] if len(asked) > 1 else asked[0]]


@pytest.fixture(autouse=True)
def _no_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide an installed NVML."""
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A /dev in which a driver shows a GPU."""
    (tmp_path / "nvidia0").touch()
    return tmp_path


def test_an_idle_gpu_is_told() -> None:
    """Nobody on it, a few MiB in use, a clock that is low for want of work."""
    watch = NvmlWatch(module())
    assert watch.driver == "580.159.04"
    assert watch.gpus() == (GpuId(0, "GPU-1", "NVIDIA H200"),)
    assert watch.state("GPU-1") == GpuState((), 4 << 20, 0.0, frozenset())


def test_what_cannot_be_read_is_unknown() -> None:
    """Never none, never 0."""
    names = (
        "ComputeRunningProcesses",
        "MemoryInfo",
        "UtilizationRates",
        "CurrentClocksEventReasons",
    )
    unknown = state(**{f"nvmlDeviceGet{name}": _UNSUPPORTED for name in names})
    assert unknown == GpuState(None, None, None, None)


def test_processes_are_listed_once_with_what_they_do() -> None:
    """One that draws and computes, computes; a client of MPS computes; memory may be unknown."""
    told = state(
        nvmlDeviceGetGraphicsRunningProcesses=[process(1), process(2)],
        nvmlDeviceGetComputeRunningProcesses=[process(2), process(3, None)],
        nvmlDeviceGetMPSComputeRunningProcesses=[process(4)],
    )
    assert told.processes is not None
    assert sorted(told.processes, key=lambda one: one.pid) == [
        GpuProcess(1, 1 << 30, compute=False),
        GpuProcess(2, 1 << 30),
        GpuProcess(3, None),
        GpuProcess(4, 1 << 30),
    ]


@pytest.mark.parametrize(
    ("bits", "reasons"),
    [
        (0x01, set()),
        (0x04, {ClockReason.POWER_CAP}),
        (0x48, {ClockReason.HW_SLOWDOWN, ClockReason.HW_THERMAL}),
        (0x88, {ClockReason.HW_SLOWDOWN, ClockReason.POWER_BRAKE}),
        (0x20, {ClockReason.SW_THERMAL}),
    ],
)
def test_what_holds_the_clock_down_is_told(bits: int, reasons: set[ClockReason]) -> None:
    """By NVML's bits; an idle GPU's low clock is none."""
    assert state(nvmlDeviceGetCurrentClocksEventReasons=bits).clock_reasons == frozenset(reasons)


def test_an_older_binding_has_the_older_name() -> None:
    """Reasons were called those of throttling."""
    old = module(nvmlDeviceGetCurrentClocksThrottleReasons=0x40)
    del old.nvmlDeviceGetCurrentClocksEventReasons
    assert NvmlWatch(old).state("GPU-1").clock_reasons == frozenset({ClockReason.HW_THERMAL})


def test_utilization_is_a_ratio() -> None:
    """NVML's percent."""
    told = state(nvmlDeviceGetUtilizationRates=SimpleNamespace(gpu=37))
    assert told.utilization == 0.37


def test_memory_under_windows_is_unknown() -> None:
    """Its desktop's is not told apart."""
    told = NvmlWatch(module(), under_windows=True).state("GPU-1")
    assert told.memory_used_bytes is None


def test_instances_of_mig_are_listed_and_looked_at() -> None:
    """Processes are the instance's, the clock is the whole GPU's."""
    made = module(nvmlDeviceGetMaxMigDeviceCount=2)
    vars(made).update(
        nvmlDeviceGetMigMode=by_handle({"handle": [1, 1]}),
        nvmlDeviceGetMigDeviceHandleByIndex=by_handle({0: "instance", 1: None}),
        nvmlDeviceGetUUID=by_handle({"handle": "GPU-1", "instance": "MIG-2"}),
        nvmlDeviceGetHandleByUUID=by_handle({"MIG-2": "instance"}),
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle=by_handle({"instance": "handle"}),
        nvmlDeviceGetComputeRunningProcesses=by_handle({"instance": [process(7)]}),
        nvmlDeviceGetCurrentClocksEventReasons=by_handle({"handle": 0x40}),
    )
    watch = NvmlWatch(made)
    assert watch.gpus() == (GpuId(0, "GPU-1", "NVIDIA H200", ("MIG-2",)),)
    told = watch.state("MIG-2")
    assert told.processes == (GpuProcess(7, 1 << 30),)
    assert told.clock_reasons == frozenset({ClockReason.HW_THERMAL})
    assert told.mig


def test_a_gpu_off_the_bus_is_lost() -> None:
    """The sentence names the Xid to look for."""
    with pytest.raises(DeviceLostError, match="Xid 79"):
        state(nvmlDeviceGetUtilizationRates=NVMLError(GPU_IS_LOST, "GPU is lost"))


def test_an_unknown_uuid_is_unavailable() -> None:
    """Say where those known are listed."""
    with pytest.raises(UnavailableError, match=r"no GPU GPU-1: `nvidia-smi -L`"):
        state(nvmlDeviceGetHandleByUUID=NVMLError(6, "Not Found"))


def test_without_the_binding_one_sentence_says_what_to_install(nodes: Path) -> None:
    """There is a GPU, and nothing that looks at it."""
    with pytest.raises(NotSupportedError, match=r"pip install 'tailwave\[cuda\]'"):
        open_watch(nodes)


def test_without_nvmls_library_one_sentence_says_so(
    nodes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container has the GPU and lacks the library."""
    error = NVMLError(LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")
    monkeypatch.setitem(sys.modules, "pynvml", module(nvmlInit=error))
    with pytest.raises(NotSupportedError, match="container may lack libnvidia-ml"):
        open_watch(nodes)


@pytest.mark.parametrize("binding", [None, module(nvmlInit=NVMLError(LIBRARY_NOT_FOUND, "no"))])
def test_without_a_gpu_it_is_unavailable(
    binding: ModuleType | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a driver is there, with the binding or without."""
    monkeypatch.setitem(sys.modules, "pynvml", binding)
    with pytest.raises(UnavailableError, match="There is no NVIDIA GPU here"):
        open_watch(tmp_path)


def test_a_driver_without_gpus_is_unavailable(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML answers and counts none."""
    monkeypatch.setitem(sys.modules, "pynvml", module(nvmlDeviceGetCount=0))
    with pytest.raises(UnavailableError, match="There is no NVIDIA GPU here"):
        open_watch(nodes)


def test_windows_is_known_by_its_node(nodes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/dxg is there under WSL alone."""
    monkeypatch.setitem(sys.modules, "pynvml", module())
    assert open_watch(nodes).state("GPU-1").memory_used_bytes == 4 << 20
    (nodes / "dxg").touch()
    assert open_watch(nodes).state("GPU-1").memory_used_bytes is None


def test_the_watch_is_opened_without_naming_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's is the one there is."""
    monkeypatch.setitem(sys.modules, "pynvml", module())
    assert open_by_name().gpus()[0].uuid == "GPU-1"
