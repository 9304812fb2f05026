"""Opens a GPU, or says why there is none."""

from __future__ import annotations

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import DeniedError, NotSupportedError
from tailwave.gpu.devices.cuda.foreign import CoreDevice
from tailwave.gpu.devices.cuda.libraries import Libraries
from tailwave.gpu.devices.cuda.refusals import checked, guarded


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
