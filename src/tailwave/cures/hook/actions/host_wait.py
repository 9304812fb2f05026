"""Sets how the host waits for the GPU, in the flags of each GPU's primary context."""

from __future__ import annotations

from types import ModuleType

from tailwave.cures.hook.actions.base import Action
from tailwave.cures.hook.driver import Driver


class HostWait(Action):
    """Sets ``policy`` (spin, yield, block) as CUDA comes up, and reads it back at the end.

    Not before: starting the driver earlier than the program does would make CUDA unusable in the
    children that it forks until then. Setting flags makes no context, so it is done for every GPU.
    """

    IDLE = "the program did not start CUDA through torch"

    def on_cuda(self, torch: ModuleType) -> None:
        """Set it for every GPU that the program sees."""
        self._driver = Driver()
        for device in range(self._driver.device_count()):
            self._driver.set_wait(device, str(self.parameters["policy"]))
        self._device = int(torch.cuda.current_device())
        self._check()

    def seen(self) -> dict[str, object]:
        """Return how the host waits now."""
        return {"policy": self._check()} if self.applied else {}

    def _check(self) -> str:
        now = self._driver.primary_context(self._device).wait
        self.applied = now == self.parameters["policy"]
        if not self.applied:
            self.refuse(f"the driver holds to another way to wait: {now or 'unknown'}")
        return now
