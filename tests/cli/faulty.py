"""Devices with a fault each, opened as ``faulty:NAME``: simulated GPUs that were tampered with."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.base import (
    DeniedError,
    DeviceFailedError,
    DeviceLostError,
    Launch,
    LinkState,
    NotSupportedError,
    Stream,
)
from tailwave.gpu.devices.sim import chip
from tailwave.gpu.devices.sim.device import SimDevice

_GONE = "The GPU stopped answering (fell off the bus?); a restart of the machine brings it back."


def open(name: str) -> SimDevice:  # noqa: A001 - read as `faulty.open`, as every backend's
    """Open the device with the fault named."""
    return _FAULTS[name]()


class _Failing(SimDevice):
    """A device on which launches of one kernel end in an error.

    ``stamp`` runs in dispatch, when launch and half of dispatch have been measured.
    """

    def __init__(self, kernel: str, error: BaseException) -> None:
        super().__init__(chip.load("h200"))
        self._kernel, self._error = kernel, error

    def launch(self, stream: Stream, launch: Launch) -> None:
        """Raise the error for that kernel."""
        if launch.kernel == self._kernel:
            raise self._error
        super().launch(stream, launch)


def _healthy() -> SimDevice:
    return SimDevice(chip.load("h200"))


def _lost() -> SimDevice:
    return _Failing("stamp", DeviceLostError(_GONE))


def _out_of_memory() -> SimDevice:
    error = NotSupportedError("128 bytes were asked for, and 0 are free.")
    return _Failing("stamp", error)


def _denied() -> SimDevice:
    return _Failing("stamp", DeniedError("Not for this user."))


def _failing() -> SimDevice:
    return _Failing("stamp", DeviceFailedError("The kernel stamp did not run: an odd error."))


def _interrupted() -> SimDevice:
    return _Failing("stamp", KeyboardInterrupt())


def _dear_graphs() -> SimDevice:
    plain = chip.load("h200")
    return SimDevice(replace(plain, launch=replace(plain.launch, graph_node_ns=9000)))


class _Narrow(SimDevice):
    """A device whose link has half the lanes that both ends have."""

    def link(self) -> LinkState:
        """Say so."""
        return LinkState(width=8, generation=5, width_max=16, generation_max=5)


def _narrow_link() -> SimDevice:
    return _Narrow(chip.load("h200"))


def _no_driver() -> SimDevice:
    raise UnavailableError("There is no NVIDIA driver here: install one.")


_FAULTS: dict[str, Callable[[], SimDevice]] = {
    "none": _healthy,
    "lost": _lost,
    "memory": _out_of_memory,
    "denied": _denied,
    "failing": _failing,
    "interrupted": _interrupted,
    "dear-graphs": _dear_graphs,
    "narrow-link": _narrow_link,
    "no-driver": _no_driver,
}
