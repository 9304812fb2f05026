"""NVML's answers: known, unknown, refused and gone are told apart."""

from __future__ import annotations

import pytest

from tailwave.gpu.devices.base import DeniedError, DeviceLostError, LinkState, NotSupportedError
from tailwave.gpu.devices.cuda.nvml import Nvml
from tests.gpu.devices.cuda.fakes import GPU_IS_LOST, NO_PERMISSION, NOT_SUPPORTED, NVMLError, nvml

_WIDTH = "nvmlDeviceGetCurrPcieLinkWidth"
_GENERATION = "nvmlDeviceGetCurrPcieLinkGeneration"


def test_the_link_is_read() -> None:
    """Current width and generation, then the most that they can be."""
    module = nvml(nvmlDeviceGetCurrPcieLinkGeneration=1)
    assert Nvml(module, "0000:01:00.0").link() == LinkState(16, 1, 16, 5)


def test_a_part_that_cannot_be_read_is_0() -> None:
    """One unknown figure leaves the others."""
    module = nvml(nvmlDeviceGetMaxPcieLinkWidth=NVMLError(NOT_SUPPORTED, "Not Supported"))
    assert Nvml(module, "").link() == LinkState(16, 5, 0, 5)


def test_a_link_of_which_nothing_can_be_read_is_unsupported() -> None:
    """No figure at all is a reason, not a link of width 0."""
    error = NVMLError(NOT_SUPPORTED, "Not Supported")
    with pytest.raises(NotSupportedError, match="cannot read the host link"):
        Nvml(nvml(**{_WIDTH: error, _GENERATION: error}), "").link()


def test_a_refusal_is_denied() -> None:
    """No permission is told from no support."""
    with pytest.raises(DeniedError, match="user or container"):
        Nvml(nvml(**{_WIDTH: NVMLError(NO_PERMISSION, "Insufficient Permissions")}), "").link()


def test_a_gpu_off_the_bus_is_lost() -> None:
    """The sentence names the Xid to look for."""
    with pytest.raises(DeviceLostError, match="Xid 79"):
        Nvml(nvml(**{_WIDTH: NVMLError(GPU_IS_LOST, "GPU is lost")}), "").link()


def test_an_old_binding_lacks_functions() -> None:
    """What the binding or the driver does not have is unknown."""
    module = nvml()
    del module.nvmlDeviceGetMigMode, module.nvmlDeviceGetUUID
    one = Nvml(module, "")
    assert (one.mig, one.uuid, one.driver) == (False, "", "580.159.04")


def test_without_the_binding_all_is_unknown() -> None:
    """Nothing is asked of a module that is not there."""
    one = Nvml(None, "0000:01:00.0")
    assert (one.driver, one.uuid, one.clock_mhz_max, one.mig) == ("", "", 0, False)
    with pytest.raises(NotSupportedError, match=r"pip install 'tailwave\[cuda\]'"):
        one.link()
