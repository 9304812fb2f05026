"""The foreign packages of this backend, imported here alone and when first used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NamedTuple

from tailwave.errors import UnavailableError


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
