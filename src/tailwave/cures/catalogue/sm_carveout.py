"""Let matrix products leave some SMs alone.

On an H200 it gained nothing in any of 15 cases: it can be named, and is never chosen.
"""

from __future__ import annotations

from types import ModuleType

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism, Setting, whole
from tailwave.cures.hook.action import Action


class SmCarveout(Action):
    """Sets the number of SMs to leave (``sms``), and reads it back at the end."""

    IDLE = "the program did not import torch"

    def on_torch(self, torch: ModuleType) -> None:
        """Set it."""
        sms = int(str(self.parameters["sms"]))
        if not hasattr(torch._C, "_set_sm_carveout_experimental"):  # noqa: SLF001  it has no other
            self.refuse(f"torch {torch.__version__} has no SM carve-out")
            return
        self._read = torch._C._get_sm_carveout_experimental  # noqa: SLF001
        torch._C._set_sm_carveout_experimental(sms)  # noqa: SLF001
        self.applied = self._read() == sms

    def seen(self) -> dict[str, object]:
        """Return the number that torch holds now."""
        return {"sms": self._read()} if self.applied else {}


_MOST = 1024


class SmCarveoutCure(CureInProgram):
    """Works where PyTorch gives back the number that was set."""

    name = "sm-carveout"
    label = "SMs that matrix products leave alone"
    does = (
        "PyTorch tells cuBLASLt to plan its products for fewer SMs, so that they fit beside a "
        "kernel that holds the others, instead of waiting for them in a wave of their own."
    )
    needs = (
        "A PyTorch program on Hopper; the call is private and experimental "
        "(torch._C._set_sm_carveout_experimental), and only some products listen."
    )
    example = "16"
    action = SmCarveout

    def parameters(self, _: Setting, /) -> tuple[str, ...]:
        """None: only the user knows how many SMs something else holds."""
        return ()

    def options(self, parameter: str) -> dict[str, str | int]:
        """So many SMs."""
        return {"sms": whole(self.name, parameter, 1, _MOST)}

    def judged(self, parameter: str, report: ActionReport) -> Mechanism:
        """Look at what PyTorch gives back."""
        if report.first("sms") != int(parameter):
            return report.missing("PyTorch did not take the number")
        sentence = f"PyTorch plans its products without {parameter} SMs."
        return Mechanism(works=True, sentence=sentence)

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """PyTorch's own, private as it is."""
        return (f"torch._C._set_sm_carveout_experimental({parameter})",)
