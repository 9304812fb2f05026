"""The CUDA driver's own word, through ctypes: the program's Python need have no binding of it."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

# CUctx_flags of cuda.h: how the host waits, by the words that tailwave uses.
WAITS = {"auto": 0, "spin": 1, "yield": 2, "block": 4}
_WAIT_MASK = 7
_MPS_ENABLED = 133  # CU_DEVICE_ATTRIBUTE_MPS_ENABLED
_LOADING = {1: "EAGER", 2: "LAZY"}  # CUmoduleLoadingMode


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
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), _MPS_ENABLED, device)
        return bool(value.value)

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._cuda, name)
        except AttributeError as error:
            raise OSError(f"the driver has no {name}: it is too old") from error
        code = function(*arguments)
        if code != 0:
            raise OSError(f"the driver refused {name} with error {code}")
