"""Loads the foreign packages of this backend, when first used, and opens a GPU."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import DeniedError, NotSupportedError
from tailwave.gpu.devices.cuda.foreign import CoreDevice
from tailwave.gpu.devices.cuda.refusals import checked, guarded


class Libraries(NamedTuple):
    """cuda-core, and the driver's own functions for what it does not cover."""

    core: ModuleType  # cuda.core
    driver: ModuleType  # cuda.bindings.driver
    toolkit: tuple[int, int]  # the CUDA version that they were made for


def load() -> Libraries:
    """Import cuda-core; raises UnavailableError that says what to install."""
    try:
        core = importlib.import_module("cuda.core")
        driver = importlib.import_module("cuda.bindings.driver")
        bindings = importlib.import_module("cuda.bindings")
    except ImportError as error:
        raise UnavailableError(
            f"NVIDIA GPUs need the package cuda-core ({error}): "
            "run `pip install 'tailwave[cuda]'`, or try `--device sim:h200`."
        ) from error
    major, minor = str(bindings.__version__).split(".")[:2]
    return Libraries(core, driver, (int(major), int(minor)))


def load_nvml() -> ModuleType | None:
    """Import NVML's binding; None where it is not installed, for most works without."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def opened(libraries: Libraries, number: int) -> CoreDevice:
    """Return a GPU with its context made; raises UnavailableError with what to do next."""
    try:
        with guarded("opening the GPU"):
            _check_driver(libraries)
            device: CoreDevice = libraries.core.Device(number)
            device.set_current()
    except (DeniedError, NotSupportedError) as error:
        raise UnavailableError(str(error)) from error
    except ValueError as error:  # cuda-core's word for a number that is too high
        raise UnavailableError(
            f"There is no GPU {number}: `nvidia-smi -L` lists those there are."
        ) from error
    except RuntimeError as error:  # libcuda.so is not there
        raise UnavailableError(
            "There is no NVIDIA driver here: install it, give the container a GPU "
            "(`--gpus all`), or try `--device sim:h200`."
        ) from error
    return device


def driver_version(libraries: Libraries) -> tuple[int, int]:
    """Return the CUDA version that the driver speaks."""
    code, number = libraries.driver.cuDriverGetVersion()
    checked(code, "asking for the driver's version")
    return number // 1000, number % 1000 // 10


def _check_driver(libraries: Libraries) -> None:
    """Refuse a driver of an older major version than cuda-core's: within one, all minors work."""
    major, minor = driver_version(libraries)
    if major < libraries.toolkit[0]:
        raise UnavailableError(
            f"The driver speaks CUDA {major}.{minor}, and cuda-core was installed for CUDA "
            f"{libraries.toolkit[0]}: update the driver, or `pip install 'tailwave[cuda{major}]'`."
        )
