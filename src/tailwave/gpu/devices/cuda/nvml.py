"""What NVML says of a GPU; where it says nothing, that is "unknown" and no failure."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tailwave.gpu.devices.base import DeniedError, DeviceLostError, LinkState, NotSupportedError

_NOT_INSTALLED: Final = (
    "The state of the link needs NVML's binding: run `pip install 'tailwave[cuda]'`."
)


class Nvml:
    """NVML's view of one GPU, found by its PCI bus id: NVML does not number GPUs as CUDA does."""

    def __init__(self, module: ModuleType | None, pci_bus_id: str) -> None:
        """Take the module ``pynvml`` (None where it is not installed) and a GPU."""
        self._module = module
        self._handle: object = None
        self.why_not = _NOT_INSTALLED if module is None else ""
        if module is not None:
            self._find(module, pci_bus_id)

    @property
    def driver(self) -> str:
        """The driver's version, "" if unknown."""
        return str(self._ask("nvmlSystemGetDriverVersion", own=False) or "")

    @property
    def uuid(self) -> str:
        """The GPU's UUID, as ``nvidia-smi -L`` shows it; "" if unknown."""
        return str(self._ask("nvmlDeviceGetUUID") or "")

    @property
    def clock_mhz_max(self) -> int:
        """The highest SM clock (MHz), 0 if unknown."""
        kind = getattr(self._module, "NVML_CLOCK_SM", 1)
        found = self._ask("nvmlDeviceGetMaxClockInfo", kind)
        return found if isinstance(found, int) else 0

    @property
    def mig(self) -> bool:
        """Whether the GPU is divided into MIG instances; False if unknown."""
        modes = self._ask("nvmlDeviceGetMigMode")
        return isinstance(modes, list | tuple) and len(modes) > 0 and modes[0] == 1

    def link(self) -> LinkState:
        """Read the PCIe link.

        Raises NotSupportedError where nothing of it can be read, DeniedError where it may not be,
        and DeviceLostError.
        """
        if self.why_not:
            raise NotSupportedError(self.why_not)
        state = LinkState(*(self._number(f"nvmlDeviceGet{name}") for name in _LINK))
        if not any((state.width, state.generation)):
            raise NotSupportedError("NVML cannot read the host link of this GPU.")
        return state

    def _find(self, module: ModuleType, pci_bus_id: str) -> None:
        try:
            module.nvmlInit()
            self._handle = module.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
        except module.NVMLError as error:
            self.why_not = (
                f"NVML does not answer ({error}): "
                "the container may lack libnvidia-ml.so.1, which comes with the driver."
            )

    def _number(self, function: str) -> int:
        found = self._ask(function, strict=True)
        return found if isinstance(found, int) else 0

    def _ask(self, function: str, *args: object, own: bool = True, strict: bool = False) -> object:
        """Call a function of NVML; None where it gives nothing.

        ``own`` functions are about this GPU; with ``strict`` a refusal or a lost GPU raises.
        """
        call = getattr(self._module, function, None)
        if self._module is None or self.why_not or call is None:
            return None
        try:
            return call(self._handle, *args) if own else call(*args)
        except self._module.NVMLError as error:
            if strict:
                self._raise(error)
            return None

    def _raise(self, error: Exception) -> None:
        """Raise for what is more than an unknown value."""
        code = getattr(error, "value", None)
        if code == getattr(self._module, "NVML_ERROR_NO_PERMISSION", None):
            raise DeniedError("NVML may not be asked by this user or container.") from error
        if code == getattr(self._module, "NVML_ERROR_GPU_IS_LOST", None):
            raise DeviceLostError(
                "The GPU has fallen off the bus: look for Xid 79 in the kernel's log "
                "(`dmesg | grep -i xid`), and reboot."
            ) from error


# In the order of LinkState.
_LINK: Final = (
    "CurrPcieLinkWidth",
    "CurrPcieLinkGeneration",
    "MaxPcieLinkWidth",
    "MaxPcieLinkGeneration",
)
