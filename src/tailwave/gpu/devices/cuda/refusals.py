"""Turns what CUDA raises into errors that say what happened and what to do next.

cuda-core raises exceptions whose text begins with the name of a ``CUresult``; the functions of
``cuda.bindings`` return the ``CUresult`` itself. Both are looked up by that name here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol

from tailwave.errors import TailwaveError, UnavailableError
from tailwave.gpu.devices.base import (
    DeniedError,
    DeviceFailedError,
    DeviceLostError,
    NotSupportedError,
)

_NAME: Final = re.compile(r"CUDA_ERROR_[A-Z0-9_]+")

_COMPILER: Final = re.compile(r"NVRTC_ERROR_[A-Z0-9_]+.*", re.DOTALL)
_UNKNOWN_OPTION: Final = "NVRTC_ERROR_INVALID_OPTION"

_SEE_KERNEL_LOG: Final = (
    "look for Xid lines in the kernel's log (`dmesg | grep -i xid`), then run again"
)

# The GPU or its context is gone: nothing more can be asked of it in this process.
_LOST: Final = {
    "CUDA_ERROR_LAUNCH_FAILED": _SEE_KERNEL_LOG,
    "CUDA_ERROR_ILLEGAL_ADDRESS": _SEE_KERNEL_LOG,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": _SEE_KERNEL_LOG,
    "CUDA_ERROR_MISALIGNED_ADDRESS": _SEE_KERNEL_LOG,
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": _SEE_KERNEL_LOG,
    "CUDA_ERROR_INVALID_PC": _SEE_KERNEL_LOG,
    "CUDA_ERROR_HARDWARE_STACK_ERROR": _SEE_KERNEL_LOG,
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": _SEE_KERNEL_LOG,
    "CUDA_ERROR_EXTERNAL_DEVICE": _SEE_KERNEL_LOG,
    "CUDA_ERROR_UNKNOWN": (
        "it may have fallen off the bus; " + _SEE_KERNEL_LOG + ", after a reboot if it stays away"
    ),
    "CUDA_ERROR_LAUNCH_TIMEOUT": (
        "a driver that also serves a display stops long kernels; use a GPU without a display"
    ),
    "CUDA_ERROR_ECC_UNCORRECTABLE": (
        "its memory has an error that ECC could not correct; look at `nvidia-smi -q -d ECC`, and "
        "reset or replace the GPU"
    ),
    "CUDA_ERROR_CONTAINED": (
        "its memory has an error that was contained; look at `nvidia-smi -q -d ECC`, then run again"
    ),
    "CUDA_ERROR_NVLINK_UNCORRECTABLE": (
        "NVLink has an error that could not be corrected; look at `nvidia-smi nvlink -e`"
    ),
}

# There is no GPU to be had, or not by this process.
_UNAVAILABLE: Final = {
    "CUDA_ERROR_NO_DEVICE": (
        "no CUDA GPU is visible: look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, give the container "
        "a GPU (`--gpus all`), or try `--device sim:h200`"
    ),
    "CUDA_ERROR_INVALID_DEVICE": "there is no GPU of that number: `nvidia-smi -L` lists them",
    "CUDA_ERROR_STUB_LIBRARY": (
        "the libcuda.so found is the toolkit's stub: put the driver's own first on LD_LIBRARY_PATH"
    ),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": (
        "the driver's kernel module and its libraries are of two versions: reboot, or reload the "
        "module, after a driver update"
    ),
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": (
        "CUDA's compatibility libraries do not work on this GPU: update the driver itself"
    ),
    "CUDA_ERROR_SYSTEM_NOT_READY": (
        "the system is not ready for CUDA: start nvidia-fabricmanager, where GPUs have NVSwitch"
    ),
    "CUDA_ERROR_NOT_INITIALIZED": "the driver did not start: look at `nvidia-smi`",
    "CUDA_ERROR_DEVICE_NOT_LICENSED": "the virtual GPU has no licence",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": (
        "the GPU is taken: another process has it to itself (compute mode), or it is being reset"
    ),
    "CUDA_ERROR_MPS_CONNECTION_FAILED": "the MPS daemon does not answer: start it, or quit MPS",
    "CUDA_ERROR_MPS_RPC_FAILURE": "the MPS daemon does not answer: start it, or quit MPS",
    "CUDA_ERROR_MPS_SERVER_NOT_READY": "the MPS server is restarting: try again in a moment",
    "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED": "the MPS server takes no more clients: end some",
    "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED": "the MPS server takes no more clients: end some",
}

_NOT_SUPPORTED: Final = {
    "CUDA_ERROR_NOT_SUPPORTED": "this GPU or driver cannot do it",
    "CUDA_ERROR_OUT_OF_MEMORY": "there is not enough free device memory: end other work on the GPU",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "no GPC has room for a cluster of so many CTAs",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a CTA asks for more than an SM has",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the kernel was compiled for another architecture",
    "CUDA_ERROR_INVALID_RESOURCE_TYPE": "this driver cannot split SMs like that",
    "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION": "this GPU's SMs cannot be split like that",
    "CUDA_ERROR_MPS_CLIENT_TERMINATED": "the MPS server ended this client",
    "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER": "the driver is too old for it: update it",
}

_DENIED: Final = {
    "CUDA_ERROR_NOT_PERMITTED": "it takes a right that this user or container does not have",
    "CUDA_ERROR_OPERATING_SYSTEM": (
        "the operating system refused it: the container may lack access to /dev/nvidia*"
    ),
}

_ERRORS: Final[tuple[tuple[dict[str, str], Callable[[str], Exception]], ...]] = (
    (_LOST, DeviceLostError),
    (_UNAVAILABLE, UnavailableError),
    (_NOT_SUPPORTED, NotSupportedError),
    (_DENIED, DeniedError),
)


class _Code(Protocol):
    """A ``CUresult``."""

    name: str

    def __int__(self) -> int:
        """Return its number; 0 is success."""


class guarded:  # noqa: N801  read as a statement: `with guarded("a launch"):`
    """Translates what CUDA raises inside; ``what`` was being done, in words.

    A class rather than a generator, for it stands around every launch.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        """Take what is done inside."""
        self._what = what

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Raise our error for theirs; let anything else through."""
        if error is not None and (ours := translated(error, self._what)) is not None:
            raise ours from error


def checked(code: _Code, what: str) -> None:
    """Raise for the code that a function of ``cuda.bindings`` gave, unless it is success."""
    if int(code) != 0:
        raise named(code.name, what)


def translated(error: BaseException, what: str) -> Exception | None:
    """Return the error to raise instead, or None for one that is not CUDA's."""
    if isinstance(error, (TailwaveError, NotSupportedError, DeniedError)):
        return None
    name = _NAME.search(str(error))
    if name is not None:
        return named(name.group(), what)
    log = _COMPILER.search(str(error))
    if log is not None:
        return _by_compiler(log.group(), what)
    if isinstance(error, NotImplementedError):
        return NotSupportedError(f"{_sentence(what)} is not possible here: {error}.")
    return None


def _by_compiler(log: str, what: str) -> Exception:
    """Return the error for what NVRTC said."""
    if log.startswith(_UNKNOWN_OPTION):
        return NotSupportedError(
            f"{_sentence(what)} failed: the installed CUDA compiles no code for this GPU's "
            "architecture; an older GPU needs an older cuda-core, a newer one a newer."
        )
    return DeviceFailedError(f"{_sentence(what)} failed: {log.strip()}")


def named(name: str, what: str) -> Exception:
    """Return the error for a ``CUresult`` by its name."""
    for table, kind in _ERRORS:
        if name in table:
            return kind(f"{_sentence(what)} failed: {table[name]} ({name}).")
    return DeviceFailedError(f"{_sentence(what)} failed with {name}.")


def _sentence(what: str) -> str:
    return what[:1].upper() + what[1:]
