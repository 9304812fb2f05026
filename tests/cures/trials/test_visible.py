"""Which GPUs a program will see, as CUDA reads its environment."""

from __future__ import annotations

import pytest

from tailwave.cures.trials.visible import Visibility, visible
from tailwave.gpu.devices.base import GpuId
from tests.cures.trials.watches import gpus

_BY_PCI = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
_ALL = ("GPU-a", "GPU-b", "GPU-c")
_DIVIDED = (
    GpuId(0, "GPU-a", "NVIDIA H200", ("MIG-1", "MIG-2")),
    GpuId(1, "GPU-b", "NVIDIA H200"),
)


def seen(value: str, **order: str) -> Visibility:
    """What is visible of three GPUs."""
    return visible(gpus(3), {"CUDA_VISIBLE_DEVICES": value, **order})


def test_without_the_variable_a_program_may_use_all() -> None:
    """So all are looked at."""
    assert visible(gpus(3), {}) == Visibility(_ALL, 3)


def test_numbers_count_by_pci_address_only_when_told_so() -> None:
    """Else the fastest is first, and which that is cannot be told: all are looked at."""
    assert seen("2,0", **_BY_PCI) == Visibility(("GPU-c", "GPU-a"), 2)
    assert seen("2,0") == Visibility(_ALL, 2, sure=False)
    assert seen("2", CUDA_DEVICE_ORDER="FASTEST_FIRST") == Visibility(_ALL, 1, sure=False)


def test_the_only_gpu_is_number_0_in_any_order() -> None:
    """There is nothing to be counted otherwise."""
    assert visible(gpus(1), {"CUDA_VISIBLE_DEVICES": "0"}) == Visibility(("GPU-a",), 1)


@pytest.mark.parametrize("value", ["GPU-b", " GPU-b ", "GPU-b,GPU-x,GPU-a", "GPU-b,-1,GPU-a"])
def test_a_uuid_names_its_gpu_and_what_follows_a_wrong_entry_does_not_count(value: str) -> None:
    """Whatever the order."""
    assert seen(value) == Visibility(("GPU-b",), 1)


def test_the_beginning_of_a_uuid_is_enough_where_it_is_unique() -> None:
    """All three begin alike, the beginning of nothing does not."""
    known = (GpuId(0, "GPU-8932f937", ""), GpuId(1, "GPU-89aa0000", ""))
    assert visible(known, {"CUDA_VISIBLE_DEVICES": "GPU-893"}) == Visibility(("GPU-8932f937",), 1)
    assert visible(known, {"CUDA_VISIBLE_DEVICES": "GPU-89"}) == Visibility((), 0)


@pytest.mark.parametrize("value", ["", "-1", "3", "none", "NoDevFiles"])
def test_what_names_no_gpu_leaves_none(value: str) -> None:
    """An empty variable is set all the same."""
    assert seen(value, **_BY_PCI) == Visibility((), 0)


def test_instances_are_named_by_their_uuid() -> None:
    """In the form before driver 470 their GPU is looked at."""
    for value, uuid in (("MIG-2", "MIG-2"), ("MIG-GPU-a/1/0", "GPU-a")):
        assert visible(_DIVIDED, {"CUDA_VISIBLE_DEVICES": value}) == Visibility((uuid,), 1)


def test_numbers_beside_instances_cannot_be_told() -> None:
    """CUDA counts instances then."""
    environment = {"CUDA_VISIBLE_DEVICES": "1", **_BY_PCI}
    assert visible(_DIVIDED, environment) == Visibility(("GPU-a", "GPU-b"), 1, sure=False)


def test_a_gpu_that_is_named_twice_is_looked_at_once() -> None:
    """CUDA itself will refuse it."""
    assert seen("GPU-b,GPU-b") == Visibility(("GPU-b",), 2)
