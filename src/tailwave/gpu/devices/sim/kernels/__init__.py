"""A model of each kernel in ``tailwave/gpu/kernels/README.md``, by the name it is launched with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tailwave.gpu.devices.base import NotSupportedError
from tailwave.gpu.devices.sim.kernels import issue, memory, residence, sharing
from tailwave.gpu.devices.sim.kernels.call import Call
from tailwave.gpu.devices.sim.work import Work

Model = Callable[[Call], Work]

KERNELS: Mapping[str, Model] = {
    "empty": residence.empty,
    "arguments": residence.empty,
    "spin": residence.spin,
    "tick": residence.tick,
    "stamp": residence.stamp,
    "hog": residence.hog,
    "smids": residence.smids,
    "issue": issue.issue,
    "banks": issue.banks,
    "chase": memory.chase,
    "read": memory.read,
    "write": memory.write,
    "loaded": memory.loaded,
    "touch": memory.touch,
    "atomics": sharing.atomics,
    "pingpong": sharing.pingpong,
    "poll": sharing.poll,
}


def find(name: str) -> Model:
    """Return the model of a kernel; ``arguments_8`` is ``arguments`` with 8 of them.

    Raises NotSupportedError for a kernel that is not in the contract.
    """
    family, _, count = name.rpartition("_")
    model = KERNELS.get(family if count.isdecimal() else name)
    if model is None:
        raise NotSupportedError(f"The simulator has no model of a kernel {name!r}.")
    return model
