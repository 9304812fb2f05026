"""NVIDIA GPUs, through cuda-core and NVML; both are imported when a GPU is first opened."""

from __future__ import annotations

from tailwave.errors import UsageError
from tailwave.gpu.devices.cuda.device import CudaDevice
from tailwave.gpu.devices.cuda.facts import lacking
from tailwave.gpu.devices.cuda.foreign import CoreContext, CoreDevice, CoreSms, CoreStream
from tailwave.gpu.devices.cuda.nvml import Nvml
from tailwave.gpu.devices.cuda.opening import Libraries, load, load_nvml, opened
from tailwave.gpu.devices.cuda.refusals import checked, guarded
from tailwave.gpu.devices.cuda.streams import CudaStream, Split, confined, split


def open(name: str) -> CudaDevice:  # noqa: A001  read as `cuda.open`
    """Open a GPU by its number as CUDA counts ("" is the first).

    Raises UsageError for what is no number, and UnavailableError when there is no such GPU, no
    driver or no package, or when driver and package do not fit each other.
    """
    if name and not name.isdecimal():
        raise UsageError(f"A CUDA device is named by its number, as in cuda:0, not {name!r}.")
    libraries = load()
    core = opened(libraries, int(name or 0))
    return CudaDevice(libraries, core, Nvml(load_nvml(), core.pci_bus_id))


__all__ = [
    "CoreContext",
    "CoreDevice",
    "CoreSms",
    "CoreStream",
    "CudaDevice",
    "CudaStream",
    "Libraries",
    "Nvml",
    "Split",
    "checked",
    "confined",
    "guarded",
    "lacking",
    "load",
    "load_nvml",
    "open",
    "opened",
    "split",
]
