"""Each state in which there is no GPU to be had ends in one sentence that says what to do."""

from __future__ import annotations

import sys

import pytest

from tailwave.errors import UnavailableError, UsageError
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import Feature
from tests.gpu.devices.cuda.fakes import LIBRARY_NOT_FOUND, FakeCuda, NVMLError, nvml

_FAULTS = {
    "CUDA_ERROR_NO_DEVICE": "CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_INVALID_DEVICE": "nvidia-smi -L",
    "CUDA_ERROR_STUB_LIBRARY": "LD_LIBRARY_PATH",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "reboot",
    "CUDA_ERROR_SYSTEM_NOT_READY": "nvidia-fabricmanager",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "compute mode",
    "CUDA_ERROR_MPS_CONNECTION_FAILED": "MPS daemon",
    "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED": "takes no more clients",
    "CUDA_ERROR_DEVICE_NOT_LICENSED": "licence",
    "CUDA_ERROR_OUT_OF_MEMORY": "end other work on the GPU",
    "CUDA_ERROR_NOT_PERMITTED": "user or container",
    "CUDA_ERROR_OPERATING_SYSTEM": "/dev/nvidia",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "nvidia-smi -q -d ECC",
    "CUDA_ERROR_UNKNOWN": "fallen off the bus",
}


@pytest.fixture(autouse=True)
def _without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def test_without_the_package_the_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No cuda-core is no traceback."""
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(UnavailableError, match=r"pip install 'tailwave\[cuda\]'"):
        open_device("")


def test_without_a_driver_the_sentence_names_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """No libcuda.so: a driver, a container's GPU, or the simulator."""
    FakeCuda(faults={"load": ""}).install(monkeypatch)
    with pytest.raises(UnavailableError, match=r"no NVIDIA driver here: .*--gpus all.*sim:h200"):
        open_device("cuda")


def test_a_driver_older_than_the_toolkit_is_told_both_ways_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver may be updated, or the package be chosen for it."""
    FakeCuda(driver=12040).install(monkeypatch)
    with pytest.raises(UnavailableError, match=r"CUDA 12\.4, .* CUDA 13: .*tailwave\[cuda12\]"):
        open_device("")


def test_a_driver_of_an_older_minor_version_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a major version all minors work together."""
    FakeCuda(driver=13000, toolkit="13.5.0").install(monkeypatch)
    assert open_device("").facts.driver == "CUDA 13.0"


@pytest.mark.parametrize("step", ["Device", "set_current"])
@pytest.mark.parametrize(("code", "words"), _FAULTS.items())
def test_a_fault_of_cuda_is_unavailable_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, code: str, words: str, step: str
) -> None:
    """Whatever CUDA says on the way to a GPU, there is none: the sentence says why."""
    FakeCuda(faults={step: code}).install(monkeypatch)
    with pytest.raises(UnavailableError, match=words) as caught:
        open_device("")
    assert f"({code})" in str(caught.value)


def test_a_number_too_high_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU 3 among one."""
    FakeCuda().install(monkeypatch)
    with pytest.raises(UnavailableError, match="There is no GPU 3: `nvidia-smi -L`"):
        open_device("cuda:3")


@pytest.mark.parametrize("name", ["cuda:first", "cuda:-1", "vulcan", ":0"])
def test_a_name_that_names_nothing_is_a_usage_error(name: str) -> None:
    """What is no backend, or no number of a GPU, is the caller's mistake."""
    with pytest.raises(UsageError):
        open_device(name)


def test_an_old_gpu_says_why_it_has_no_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters came with compute capability 9.0."""
    old = {"compute_capability_major": 8, "compute_capability_minor": 6, "cluster_launch": False}
    FakeCuda(changes=old).install(monkeypatch)
    device = open_device("")
    assert Feature.CLUSTERS not in device.features
    assert device.why_not(Feature.CLUSTERS).endswith("this GPU has 8.6.")


def test_under_mps_sm_ids_are_no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the daemon."""
    FakeCuda(changes={"mps_enabled": True}).install(monkeypatch)
    assert "Under MPS" in open_device("").why_not(Feature.SM_IDS)


def test_a_driver_without_green_contexts_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal to name the SMs takes the feature away, and nothing else."""
    FakeCuda(faults={"resources": "CUDA_ERROR_NOT_SUPPORTED"}).install(monkeypatch)
    device = open_device("")
    assert "CUDA 12.4" in device.why_not(Feature.PARTITION)
    assert Feature.CLUSTERS in device.features


def test_without_nvml_facts_come_from_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only NVML knows is unknown, which is no failure."""
    FakeCuda().install(monkeypatch)
    device = open_device("")
    assert (device.facts.uuid, device.facts.clock_mhz_max, device.facts.driver) == (
        "GPU-00000000-0000-0000-0000-000000000000",
        1980,
        "CUDA 13.0",
    )
    assert "pip install" in device.why_not(Feature.LINK)


def test_with_nvml_facts_are_its(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's release is known only to NVML."""
    FakeCuda().install(monkeypatch)
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    facts = open_device("").facts
    assert (facts.uuid, facts.driver) == ("GPU-1", "580.159.04 (CUDA 13.0)")


def test_nvml_without_its_library_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without libnvidia-ml.so opens the GPU all the same."""
    FakeCuda().install(monkeypatch)
    gone = NVMLError(LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlInit=gone))
    assert "libnvidia-ml.so.1" in open_device("").why_not(Feature.LINK)


def test_under_mig_the_link_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """All instances share it."""
    FakeCuda().install(monkeypatch)
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlDeviceGetMigMode=[1, 1]))
    assert "Under MIG" in open_device("").why_not(Feature.LINK)
