"""GPUs that are not there, and what a watch sees of them, look after look."""

from __future__ import annotations

from collections.abc import Sequence

from tailwave.gpu.devices.base import ClockReason, DeviceLostError, GpuId, GpuProcess, GpuState

IDLE = GpuState((), 4 << 20, 0.0, frozenset())
GONE = DeviceLostError("The GPU has fallen off the bus.")


def state(
    *processes: GpuProcess,
    used: int | None = 4 << 20,
    utilization: float | None = 0.0,
    reasons: Sequence[ClockReason] = (),
    mig: bool = False,
) -> GpuState:
    """What a GPU does; memory that listed processes hold is added to what is in use."""
    held = sum(process.memory_bytes or 0 for process in processes)
    total = None if used is None else used + held
    return GpuState(processes, total, utilization, frozenset(reasons), mig)


def gpus(number: int) -> tuple[GpuId, ...]:
    """So many GPUs: GPU-a, GPU-b and so on."""
    return tuple(GpuId(index, f"GPU-{'abcdefgh'[index]}", "NVIDIA H200") for index in range(number))


class FakeWatch:
    """A watch that sees of each GPU one state after the other; the last one stays."""

    driver = "580.159.04"

    def __init__(
        self, *states: GpuState | DeviceLostError, number: int = 1, instances: tuple[str, ...] = ()
    ) -> None:
        """Take what is seen; with several GPUs, of the last of them, the others being idle."""
        found = gpus(number)
        last = found[-1]
        self._gpus = (*found[:-1], GpuId(last.index, last.uuid, last.name, instances))
        self._states = list(states or (IDLE,))
        self.looked_at: list[str] = []

    def gpus(self) -> tuple[GpuId, ...]:
        """List them."""
        return self._gpus

    def state(self, uuid: str) -> GpuState:
        """Look at one."""
        self.looked_at.append(uuid)
        if uuid in {gpu.uuid for gpu in self._gpus[:-1]}:
            return IDLE
        seen = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        if isinstance(seen, DeviceLostError):
            raise seen
        return seen
