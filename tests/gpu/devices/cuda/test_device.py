"""The device over a CUDA that is not there: how calls are shaped, and how their faults are told."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import (
    DeniedError,
    Device,
    DeviceFailedError,
    DeviceLostError,
    Launch,
    NotSupportedError,
)
from tests.gpu.devices.cuda.fakes import FakeCuda


@pytest.fixture(autouse=True)
def _without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def opened(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> Device:
    """Open the GPU that is made up."""
    cuda.install(monkeypatch)
    return open_device("")


def launch(device: Device) -> None:
    """Launch something."""
    device.launch(device.stream(), Launch("empty", 1, 32))


@pytest.mark.parametrize(
    ("step", "code", "kind", "call"),
    [
        ("launch", "CUDA_ERROR_LAUNCH_FAILED", DeviceLostError, launch),
        ("launch", "CUDA_ERROR_INVALID_VALUE", DeviceFailedError, launch),
        ("launch", "CUDA_ERROR_NOT_PERMITTED", DeniedError, launch),
        ("sync", "CUDA_ERROR_ILLEGAL_ADDRESS", DeviceLostError, lambda d: d.synchronize()),
        ("sync", "CUDA_ERROR_UNKNOWN", DeviceLostError, lambda d: d.synchronize()),
        ("sync", "CUDA_ERROR_ECC_UNCORRECTABLE", DeviceLostError, lambda d: d.synchronize()),
        ("allocate", "CUDA_ERROR_OUT_OF_MEMORY", NotSupportedError, lambda d: d.buffer(1)),
    ],
)
def test_a_fault_in_mid_run_has_its_class(
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    code: str,
    kind: type[Exception],
    call: Callable[[Device], object],
) -> None:
    """Lost, failed, denied and unsupported are told apart, each with CUDA's own name for it."""
    cuda = FakeCuda()
    device = opened(monkeypatch, cuda)
    cuda.faults[step] = code
    with pytest.raises(kind, match=code):
        call(device)


def test_the_most_shared_memory_leaves_room_for_the_static_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """-1 asks for all that a CTA may have, and the kernel is allowed it."""
    cuda = FakeCuda()
    device = opened(monkeypatch, cuda)
    device.launch(device.stream(), Launch("smids", 132, 32, (), -1))
    assert cuda.launched.sharedMemBytes == 232_448 - 1024
    assert cuda.attributes == {"dynamic": 232_448 - 1024}


def test_large_clusters_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 8 CTAs a cluster is not portable, and the kernel must say that it knows."""
    cuda = FakeCuda()
    device = opened(monkeypatch, cuda)
    device.launch(device.stream(), Launch("stamp", 32, 32, (0, 1), 0, 16))
    (cluster,) = cuda.launched.attrs
    assert (cluster.value.clusterDim.x, cuda.launched.gridDimX) == (16, 32)
    assert cuda.attributes == {"non-portable": 1}


@pytest.mark.parametrize(("grid", "cluster"), [(33, 2), (32, 32)])
def test_a_cluster_that_no_gpu_can_launch_is_refused(
    monkeypatch: pytest.MonkeyPatch, grid: int, cluster: int
) -> None:
    """A grid of whole clusters, of 16 CTAs at most."""
    device = opened(monkeypatch, FakeCuda())
    with pytest.raises(NotSupportedError, match="holds only whole ones"):
        device.launch(device.stream(), Launch("stamp", grid, 32, (), 0, cluster))


def test_without_clusters_a_launch_in_clusters_gives_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The refusal is the feature's own sentence."""
    device = opened(monkeypatch, FakeCuda(changes={"cluster_launch": False}))
    with pytest.raises(NotSupportedError, match=r"compute capability 9\.0"):
        device.launch(device.stream(), Launch("stamp", 2, 32, (), 0, 2))


def test_an_argument_that_no_kernel_takes_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers and integers only: anything else is the caller's bug."""
    device = opened(monkeypatch, FakeCuda())
    with pytest.raises(TypeError, match="buffers and integers, not float"):
        device.launch(device.stream(), Launch("empty", 1, 32, (1.5,)))


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ((32,), [32, 100]),
        ((3,), [8, 124]),
        ((32, 64), [32, 64, 36]),
        ((40, 16, 8), [40, 16, 8, 68]),
        ((8,) * 16, [8] * 16 + [4]),
    ],
)
def test_sms_are_split_once(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[int, ...], given: list[int]
) -> None:
    """Unequal groups are made of equal pieces of one split; the last stream has what remains."""
    cuda = FakeCuda()
    device = opened(monkeypatch, cuda)
    with device.partition(asked) as streams:
        assert [stream.sm_count for stream in streams] == given
    assert all(context.closed and context.stream.closed for context in cuda.device.contexts)


def test_more_sms_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence gives the sizes as they were rounded."""
    device = opened(monkeypatch, FakeCuda())
    with (
        pytest.raises(NotSupportedError, match="Groups of 72, 72 SMs, as rounded, need more"),
        device.partition((70, 70)),
    ):
        pass


def test_a_stream_of_another_device_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of the simulator do not run on a GPU."""
    device = opened(monkeypatch, FakeCuda())
    with pytest.raises(ValueError, match="not one of this device"):
        device.launch(open_device("sim:h200").stream(), Launch("empty", 1, 32))


def test_a_kernel_that_does_not_compile_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler's own words are in the error."""
    cuda = FakeCuda()
    device = opened(monkeypatch, cuda)
    cuda.faults["Program"] = "NVRTC_ERROR_COMPILATION, compilation log: line 3"
    with pytest.raises(DeviceFailedError, match="line 3"):
        launch(device)
