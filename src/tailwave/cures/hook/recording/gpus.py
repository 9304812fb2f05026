"""What the driver says of the GPUs that the process sees."""

from __future__ import annotations

import ctypes

# CUdevice_attribute of cuda.h, by the names that the timeline has for them.
_ATTRIBUTES = {
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


def properties() -> list[dict[str, object]]:
    """Return each GPU's properties; nothing where the driver refuses."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_of(driver, index) for index in range(count.value)]


def wait() -> None:
    """Wait until the GPU has done what this process has asked for, where there is such a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    driver.cuCtxSynchronize()


def _of(driver: ctypes.CDLL, index: int) -> dict[str, object]:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(_LONGEST_NAME)
    driver.cuDeviceGet(ctypes.byref(device), index)
    driver.cuDeviceGetName(name, _LONGEST_NAME, device)
    found: dict[str, object] = {"index": index, "name": name.value.decode(errors="replace")}
    for field, number in _ATTRIBUTES.items():
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
            found[field] = value.value
    return found
