"""A machine's GPUs as a trial's guards see them, without any: calm, or with a fault."""

from __future__ import annotations

import sys
from unittest.mock import patch

from tailwave.cli import run
from tailwave.cures.trials.guards import Guards
from tailwave.gpu.devices.base import ClockReason, GpuId, GpuProcess, GpuState

CALM = GpuState(
    processes=(), memory_used_bytes=0, utilization=0.0, clock_reasons=frozenset(), mig=False
)


class FakeWatch:
    """Looks at one GPU, which is always in the state given."""

    driver = "580.159"

    def __init__(self, state: GpuState) -> None:
        """Take the state."""
        self._state = state

    def gpus(self) -> tuple[GpuId, ...]:
        """One."""
        return (GpuId(0, "GPU-1", "NVIDIA H200"),)

    def state(self, uuid: str) -> GpuState:
        """Return the state given."""
        del uuid
        return self._state


def guards(state: GpuState = CALM) -> Guards:
    """Return guards that see this state and do not wait."""
    return Guards(FakeWatch(state), {}, places=(), pause=lambda _: None)


def throttled() -> Guards:
    """A GPU that is too hot."""
    return guards(
        GpuState(
            processes=(),
            memory_used_bytes=0,
            utilization=0.0,
            clock_reasons=frozenset({ClockReason.HW_THERMAL}),
            mig=False,
        )
    )


def shared() -> Guards:
    """A GPU that another process uses."""
    return guards(
        GpuState(
            processes=(GpuProcess(1, 5 << 30),),
            memory_used_bytes=5 << 30,
            utilization=0.9,
            clock_reasons=frozenset(),
            mig=False,
        )
    )


if __name__ == "__main__":  # as `tailwave`, on a machine with one calm GPU
    with patch("tailwave.cures.trials.trial.open_guards", lambda _: guards()):
        sys.exit(run(sys.argv[1:]))
