"""Looks at NVIDIA GPUs through NVML: who is on them, and what holds their clocks down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import (
    ClockReason,
    DeviceLostError,
    GpuId,
    GpuProcess,
    GpuState,
    NotSupportedError,
)
from tailwave.gpu.devices.cuda.opening import load_nvml

# The bits of NVML's clock event reasons (nvml.h).
_REASONS: Final = {
    0x04: ClockReason.POWER_CAP,
    0x08: ClockReason.HW_SLOWDOWN,
    0x20: ClockReason.SW_THERMAL,
    0x40: ClockReason.HW_THERMAL,
    0x80: ClockReason.POWER_BRAKE,
}
# NVML's lists of processes, and whether those in it compute; one in several is what it is last.
_KINDS: Final = {"Graphics": False, "MPSCompute": True, "Compute": True}
# What a driver with a GPU puts there: Linux on its own, Linux under Windows.
_NODES: Final = ("nvidia[0-9]*", "nvidiactl", "dxg", "nvidia-caps/*")
_NO_GPU: Final = (
    "There is no NVIDIA GPU here: run this where there is one, "
    "or give the container one (`--gpus all`)."
)


def open_watch(nodes: Path = Path("/dev")) -> NvmlWatch:
    """Open NVML; ``nodes`` is where a driver shows its GPUs.

    Raises UnavailableError where there is no GPU, and NotSupportedError where there is one that
    nothing can look at.
    """
    module = load_nvml()
    if module is None:
        _require_gpu(nodes)
        raise NotSupportedError(
            "Whether anything else uses the GPU, or holds its clock down, cannot be seen without "
            "NVML's binding: run `pip install 'tailwave[cuda]'`."
        )
    try:
        module.nvmlInit()
        count = module.nvmlDeviceGetCount()
    except module.NVMLError as error:
        _require_gpu(nodes)
        raise NotSupportedError(
            "Whether anything else uses the GPU, or holds its clock down, cannot be seen, for NVML "
            f"does not answer ({error}): the container may lack libnvidia-ml.so.1, which comes "
            "with the driver."
        ) from error
    if count == 0:
        raise UnavailableError(_NO_GPU)
    return NvmlWatch(module, under_windows=(nodes / "dxg").exists())


def _require_gpu(nodes: Path) -> None:
    if not any(any(nodes.glob(pattern)) for pattern in _NODES):
        raise UnavailableError(_NO_GPU)


class NvmlWatch:
    """A ``Watch`` that asks NVML; what NVML does not say is None."""

    def __init__(self, module: ModuleType, *, under_windows: bool = False) -> None:
        """Take the module ``pynvml``, initialised.

        Under Windows (WSL) the memory in use is also that of its desktop, which is not told apart.
        """
        self._module, self._under_windows = module, under_windows
        self.driver = str(self._ask("nvmlSystemGetDriverVersion") or "")

    def gpus(self) -> tuple[GpuId, ...]:
        """List the GPUs, by PCI address."""
        return tuple(
            GpuId(
                index=index,
                uuid=str(self._ask("nvmlDeviceGetUUID", handle) or ""),
                name=str(self._ask("nvmlDeviceGetName", handle) or ""),
                instances=tuple(self._instances(handle)),
            )
            for index, handle in self._handles()
        )

    def state(self, uuid: str) -> GpuState:
        """Look at a GPU or an instance of one; of an instance, the clock is that of its GPU."""
        handle = self._ask("nvmlDeviceGetHandleByUUID", uuid)
        if handle is None:
            raise UnavailableError(f"NVML knows no GPU {uuid}: `nvidia-smi -L` lists those it has.")
        whole = handle
        if uuid.startswith("MIG-"):
            whole = self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle) or handle
        return GpuState(
            processes=self._processes(handle),
            memory_used_bytes=self._memory(handle),
            utilization=self._utilization(handle),
            clock_reasons=self._clock_reasons(whole),
            mig=self._has_mig(whole),
        )

    def _handles(self) -> Iterator[tuple[int, object]]:
        count = self._ask("nvmlDeviceGetCount")
        for index in range(count if isinstance(count, int) else 0):
            handle = self._ask("nvmlDeviceGetHandleByIndex", index)
            if handle is not None:
                yield index, handle

    def _instances(self, handle: object) -> Iterator[str]:
        if not self._has_mig(handle):
            return
        most = self._ask("nvmlDeviceGetMaxMigDeviceCount", handle)
        for index in range(most if isinstance(most, int) else 0):
            instance = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
            if instance is not None:
                yield str(self._ask("nvmlDeviceGetUUID", instance) or "")

    def _has_mig(self, handle: object) -> bool:
        modes = self._ask("nvmlDeviceGetMigMode", handle)
        return isinstance(modes, list | tuple) and len(modes) > 0 and modes[0] == 1

    def _processes(self, handle: object) -> tuple[GpuProcess, ...] | None:
        lists = [self._ask(f"nvmlDeviceGet{kind}RunningProcesses", handle) for kind in _KINDS]
        if lists[-1] is None:
            return None
        found = {
            one.pid: GpuProcess(one.pid, one.usedGpuMemory, compute=compute)
            for listed, compute in zip(lists, _KINDS.values(), strict=True)
            for one in (listed if isinstance(listed, list) else [])
        }
        return tuple(found.values())

    def _memory(self, handle: object) -> int | None:
        """Memory in use, without what the driver keeps for itself where NVML tells them apart."""
        version = getattr(self._module, "nvmlMemory_v2", None)
        if version is None or self._under_windows:
            return None
        used = getattr(self._ask("nvmlDeviceGetMemoryInfo", handle, version), "used", None)
        return used if isinstance(used, int) else None

    def _utilization(self, handle: object) -> float | None:
        rate = getattr(self._ask("nvmlDeviceGetUtilizationRates", handle), "gpu", None)
        return rate / 100 if isinstance(rate, int) else None

    def _clock_reasons(self, handle: object) -> frozenset[ClockReason] | None:
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if bits is None:  # its name until driver 535
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        if not isinstance(bits, int):
            return None
        return frozenset(reason for bit, reason in _REASONS.items() if bits & bit)

    def _ask(self, function: str, *args: object) -> object:
        """Call a function of NVML; None where it gives nothing. Raises DeviceLostError."""
        call = getattr(self._module, function, None)
        if call is None:
            return None
        try:
            answer: object = call(*args)
        except self._module.NVMLError as error:
            lost = getattr(self._module, "NVML_ERROR_GPU_IS_LOST", None)
            if getattr(error, "value", None) == lost:
                raise DeviceLostError(
                    "The GPU has fallen off the bus: look for Xid 79 in the kernel's log "
                    "(`dmesg | grep -i xid`), and reboot."
                ) from error
            return None
        return answer
