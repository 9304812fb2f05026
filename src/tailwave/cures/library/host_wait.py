"""Chooses how the host waits for the GPU: spinning, yielding its core, or asleep."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tailwave.cures.library.closing import Closing
from tailwave.cures.library.frameworks import current_number
from tailwave.cures.library.gpu import called, in_words_for_a_program
from tailwave.errors import UnavailableError, UsageError
from tailwave.gpu.devices.cuda import guarded, load

# The driver's names of the policies, each a bit of the context's flags.
_POLICIES: Final = {
    "spin": "CU_CTX_SCHED_SPIN",
    "yield": "CU_CTX_SCHED_YIELD",
    "block": "CU_CTX_SCHED_BLOCKING_SYNC",
}


class HostWait(Closing):
    """A policy that holds until `close` or the end of its `with`; then the one before does."""

    def __init__(self, driver: ModuleType, device: int, policy: str) -> None:
        """Set a policy for a GPU's primary context."""
        self.policy = policy
        self._driver = driver
        self._device = device
        self._before: int | None = self._flags() & self._mask
        self._set(int(getattr(driver.CUctx_flags, _POLICIES[policy])))

    def close(self) -> None:
        """Set the policy from before; a second time does nothing."""
        before, self._before = self._before, None
        if before is not None:
            with in_words_for_a_program():
                self._set(before)

    @property
    def _mask(self) -> int:
        return int(self._driver.CUctx_flags.CU_CTX_SCHED_MASK)

    def _flags(self) -> int:
        get = self._driver.cuDevicePrimaryCtxGetState
        return int(called("asking for the context's flags", get, self._device)[0])

    def _set(self, policy: int) -> None:
        """Change the policy alone: the other flags stay as they are by now."""
        flags = self._flags() & ~self._mask | policy
        put = self._driver.cuDevicePrimaryCtxSetFlags
        called("setting the context's flags", put, self._device, flags)


def host_wait(policy: str) -> HostWait:
    """Let the host "spin", "yield" or "block" when it waits for the current GPU.

    Spinning answers soonest and keeps a core busy; blocking leaves the core to others, such as the
    workers of a data loader, and answers some microseconds later: to wait 64 ms took 64 ms of a
    core spinning, and 0.2 ms blocking. It holds for all threads of the
    process, and needs no context yet.

    Raises UsageError for another word, and UnavailableError, with what to do next, without a GPU.
    """
    if policy not in _POLICIES:
        raise UsageError(f"A way to wait is 'spin', 'yield' or 'block', not {policy!r}.")
    with in_words_for_a_program(), guarded("setting how the host waits"):
        driver = load().driver
        try:  # asking for flags does not start the driver by itself
            called("starting the driver", driver.cuInit, 0)
        except RuntimeError as error:  # libcuda.so is not there
            raise UnavailableError(
                "There is no NVIDIA driver here: install it, or give the container a GPU "
                "(`--gpus all`)."
            ) from error
        return HostWait(driver, current_number(driver), policy)
