"""GPUs that probes can ask: real ones, and simulated ones that are asked for by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from tailwave.errors import UsageError
from tailwave.gpu.devices.base import Device, Watch


class Backend(Protocol):
    """A package of this family: one kind of device."""

    def open(self, name: str) -> Device:
        """Open a device by what follows the colon of its name ("" for its first or only one)."""


# Each backend's package, imported when a device of its kind is first opened.
BACKENDS: Final[Mapping[str, str]] = {
    "cuda": "tailwave.gpu.devices.cuda",
    "sim": "tailwave.gpu.devices.sim",
}
_DEFAULT: Final = "cuda"


def open_device(name: str) -> Device:
    """Open a device by its name: ``cuda``, ``cuda:1``, ``sim:h200``; "" is the first CUDA GPU.

    Raises UsageError for a backend that there is not, and UnavailableError, with what to do next,
    where there is no such device.
    """
    kind, _, rest = (name or _DEFAULT).partition(":")
    if kind not in BACKENDS:
        raise UsageError(
            f"There is no kind of device {kind!r}: the kinds are {', '.join(BACKENDS)}."
        )
    return cast("Backend", import_module(BACKENDS[kind])).open(rest)


def open_watch() -> Watch:
    """Look at this machine's GPUs from outside.

    Raises UnavailableError where there is no GPU, and NotSupportedError where nothing can look;
    both say what to do next.
    """
    from tailwave.gpu.devices.cuda import watch  # noqa: PLC0415 - programs under trial need none

    return watch.open_watch()
