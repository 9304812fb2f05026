"""The settings that a process runs with, read back: from torch, and from the CUDA driver itself.

The driver is asked through ctypes, for the program's Python need have no binding of it.
"""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

# CUctx_flags of cuda.h: how the host waits, by the words that tailwave uses.
WAITS = {"auto": 0, "spin": 1, "yield": 2, "block": 4}
_WAIT_MASK = 7
_MPS_ENABLED = 133  # CU_DEVICE_ATTRIBUTE_MPS_ENABLED
_LOADING = {1: "EAGER", 2: "LAZY"}  # CUmoduleLoadingMode
# CUdevice_attribute, by the names that a timeline has for them.
_PROPERTIES = {
    "sm_count": 16,
    "compute_major": 75,
    "compute_minor": 76,
    "warp_size": 10,
    "max_threads_per_sm": 39,
    "registers_per_sm": 82,
    "shared_per_sm": 81,
    "shared_per_block_optin": 97,
}
_LONGEST_NAME = 256


class PrimaryContext(NamedTuple):
    """A GPU's primary context: its flags, and whether it is there yet."""

    flags: int
    active: bool

    @property
    def wait(self) -> str:
        """How the host waits, in a word; "" for a number that means nothing here."""
        words = {number: word for word, number in WAITS.items()}
        return words.get(self.flags & _WAIT_MASK, "")


class Driver:
    """The functions used; each raises OSError when the driver refuses."""

    def __init__(self) -> None:
        """Open the driver's library; raises OSError where there is none."""
        self._cuda = ctypes.CDLL("libcuda.so.1")

    def device_count(self) -> int:
        """Return how many GPUs the program sees."""
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def primary_context(self, device: int) -> PrimaryContext:
        """Return the state of a GPU's primary context."""
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self._call("cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
        return PrimaryContext(flags.value, bool(active.value))

    def set_wait(self, device: int, word: str) -> None:
        """Set how the host waits for a GPU; the context's other flags stay."""
        flags = self.primary_context(device).flags & ~_WAIT_MASK | WAITS[word]
        self._call("cuDevicePrimaryCtxSetFlags_v2", device, flags)

    def module_loading(self) -> str:
        """Return whether kernels are loaded at the start (EAGER) or when first used (LAZY)."""
        mode = ctypes.c_int()
        self._call("cuModuleGetLoadingMode", ctypes.byref(mode))
        return _LOADING.get(mode.value, "")

    def is_under_mps(self, device: int) -> bool:
        """Tell whether a GPU's contexts are shared through MPS."""
        return bool(self._attribute(device, _MPS_ENABLED))

    def properties(self, device: int) -> dict[str, object]:
        """Return a GPU's index, name and fixed properties."""
        name = ctypes.create_string_buffer(_LONGEST_NAME)
        self._call("cuDeviceGetName", name, _LONGEST_NAME, device)
        numbers = {field: self._attribute(device, at) for field, at in _PROPERTIES.items()}
        return {"index": device, "name": name.value.decode(errors="replace"), **numbers}

    def wait(self) -> None:
        """Wait until the GPU has done what this thread's context has asked for."""
        self._call("cuCtxSynchronize")

    def _attribute(self, device: int, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._cuda, name)
        except AttributeError as error:
            raise OSError(f"the driver has no {name}: it is too old") from error
        code = function(*arguments)
        if code != 0:
            raise OSError(f"the driver refused {name} with error {code}")


# The kernel's name of a GPU's file: /dev/nvidia0, and not /dev/nvidiactl.
_GPU_FILE = "/dev/nvidia"


def settings(torch: ModuleType | None, *, cuda_is_up: bool) -> dict[str, object]:
    """Return what is in force, by name; what cannot be seen is left out."""
    found: dict[str, object] = {}
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        found["interop_threads"] = torch.get_num_interop_threads()
    if torch is not None and cuda_is_up:
        found["allocator"] = torch.cuda.get_allocator_backend()
        segments = torch.cuda.memory_snapshot()
        if segments:  # none where another allocator holds the memory
            found["expandable_segments"] = any(s.get("is_expandable") for s in segments)
        device = torch.cuda.current_device()
        found["sm_count"] = torch.cuda.get_device_properties(device).multi_processor_count
        with contextlib.suppress(OSError):
            driver = Driver()
            found["host_wait"] = driver.primary_context(device).wait
            found["module_loading"] = driver.module_loading()
            found["mps"] = driver.is_under_mps(device)
    return found


def holds_gpu() -> bool:
    """Tell whether this process has a GPU's file open, be it through torch or anything else."""
    with contextlib.suppress(OSError):
        for file in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):  # the file of the listing itself is closed by now
                name = str(file.readlink())
                if name.startswith(_GPU_FILE) and name.removeprefix(_GPU_FILE).isdigit():
                    return True
    return False
