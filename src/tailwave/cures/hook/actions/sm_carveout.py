"""Has torch's matrix products leave SMs free, by torch's own experimental setting."""

from __future__ import annotations

from types import ModuleType

from tailwave.cures.hook.actions.base import Action


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
