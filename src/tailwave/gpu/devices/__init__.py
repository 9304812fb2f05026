"""GPUs that probes can ask: real ones, and simulated ones that are asked for by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from tailwave.errors import UsageError
from tailwave.gpu.devices.base import Device, Watch

# Each backend's function that opens a device by what follows the colon of its name.
BACKENDS: Final[Mapping[str, str]] = {
    "cuda": "tailwave.gpu.devices.cuda:open",
    "sim": "tailwave.gpu.devices.sim:open",
}
_DEFAULT: Final = "cuda"


def open_device(name: str) -> Device:
    """Open a device by its name: ``cuda``, ``cuda:1``, ``sim:h200``; "" is the first CUDA GPU.

    Raises UsageError for a backend that there is not, and UnavailableError, with what to do next,
    where there is no such device.
    """
    backend, _, rest = (name or _DEFAULT).partition(":")
    if backend not in BACKENDS:
        raise UsageError(
            f"There is no kind of device {backend!r}: the kinds are {', '.join(BACKENDS)}."
        )
    module, _, function = BACKENDS[backend].partition(":")
    device: Device = getattr(importlib.import_module(module), function)(rest)
    return device


def open_watch() -> Watch:
    """Look at this machine's GPUs from outside.

    Raises UnavailableError where there is no GPU, and NotSupportedError where nothing can look;
    both say what to do next.
    """
    watch: Watch = importlib.import_module("tailwave.gpu.devices.cuda.watch").open_watch()
    return watch
