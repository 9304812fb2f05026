"""Which GPUs a program will see, by its environment alone: no CUDA is asked, so none comes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tailwave.gpu import GpuId

VARIABLE: Final = "CUDA_VISIBLE_DEVICES"
_ORDER: Final = "CUDA_DEVICE_ORDER"
_BY_PCI: Final = "PCI_BUS_ID"
_OLD_INSTANCE: Final = "MIG-GPU-"  # MIG-GPU-<GPU's UUID>/<instance>/<instance>, before driver 470


class Visibility(NamedTuple):
    """The GPUs or instances to look at, by UUID, and the number that the program will see.

    Where it cannot be told which, ``uuids`` are all, and ``sure`` is False.
    """

    uuids: tuple[str, ...]
    number: int
    sure: bool = True


def visible(gpus: Sequence[GpuId], environment: Mapping[str, str]) -> Visibility:
    """Read the environment as CUDA does: what follows an entry that names no GPU does not count.

    CUDA counts GPUs by PCI address, as NVML does, only when CUDA_DEVICE_ORDER says so; else it puts
    the fastest first, and under MIG it counts instances.
    """
    every = tuple(gpu.uuid for gpu in gpus)
    if VARIABLE not in environment:
        return Visibility(every, len(gpus))
    by_pci = len(gpus) == 1 or environment.get(_ORDER) == _BY_PCI
    sure = by_pci and (len(gpus) == 1 or not any(gpu.instances for gpu in gpus))
    found: list[str] = []
    guessed = False
    for entry in map(str.strip, environment[VARIABLE].split(",")):
        uuid = _named(entry, gpus)
        if not uuid:
            break
        guessed |= entry.isdecimal() and not sure
        found.append(uuid)
    if guessed:
        return Visibility(every, len(found), sure=False)
    return Visibility(tuple(dict.fromkeys(found)), len(found))


def _named(entry: str, gpus: Sequence[GpuId]) -> str:
    """Return the UUID that an entry stands for, "" for none. A UUID's beginning is enough."""
    if entry.isdecimal():
        return gpus[int(entry)].uuid if int(entry) < len(gpus) else ""
    if entry.startswith(_OLD_INSTANCE):
        entry = entry.removeprefix("MIG-").partition("/")[0]
    known = [uuid for gpu in gpus for uuid in (gpu.uuid, *gpu.instances)]
    matching = [uuid for uuid in known if entry and uuid.startswith(entry)]
    return matching[0] if len(matching) == 1 else ""
