"""Choose how the host waits for the GPU: spinning, yielding its core, or asleep."""

from __future__ import annotations

from types import ModuleType

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism, Setting, one_of
from tailwave.cures.hook.action import Action
from tailwave.cures.hook.settings import Driver


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


_POLICIES = ("block", "yield", "spin")


class HostWaitCure(CureInProgram):
    """Works where the flags of the primary context, read back, say so."""

    name = "host-wait"
    label = "how the host waits"
    does = (
        "A thread that waits for the GPU asks over and over (spin), asks and lets others run "
        "(yield), or sleeps until the GPU interrupts it (block). Spinning sees the end soonest and "
        "takes a core; sleeping leaves the core to others and wakes tens of microseconds later."
    )
    needs = (
        "To be set before CUDA comes up, so the program is started anew. By default CUDA spins "
        "where there are cores enough: spin changes nothing there."
    )
    example = "block"
    action = HostWait

    def parameters(self, _: Setting, /) -> tuple[str, ...]:
        """Sleeping first: it differs most from what there is."""
        return _POLICIES

    def options(self, parameter: str) -> dict[str, str | int]:
        """One way to wait."""
        return {"policy": one_of(self.name, parameter, _POLICIES)}

    def judged(self, parameter: str, report: ActionReport) -> Mechanism:
        """Look at the flags that were read back."""
        policy = report.first("policy")
        if policy != parameter:
            return report.missing(f"the context's flags do not say {parameter}")
        return Mechanism(
            works=True, sentence=f"The context's flags say that the host waits by {policy}."
        )

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The library's own."""
        return ("import tailwave", f'with tailwave.host_wait("{parameter}"): ...')
