"""What is asked of torch, asked of a real one that has no GPU."""

from __future__ import annotations

from types import ModuleType

import pytest

from integrations.comfyui import gpu
from integrations.comfyui.tests.fake_comfy import FakeDevice
from tailwave.errors import UnavailableError


@pytest.fixture
def torch() -> ModuleType:
    """Return torch, where there is one."""
    module: ModuleType = pytest.importorskip("torch")
    return module


@pytest.mark.filterwarnings("ignore:CUDA is not available")  # torch's profiler says so
def test_the_profiler_counts_launches_and_nothing_else(torch: ModuleType) -> None:
    """Operations of the CPU are seen and are no launches; the result is the call's own."""
    result, launches = gpu.launches_in(lambda: torch.ones(4).sum().item())
    assert (result, launches) == (4.0, gpu.Launches(0, 0))


@pytest.mark.filterwarnings("ignore:CUDA is not available")
def test_a_second_profiler_leaves_the_call_alone(torch: ModuleType) -> None:
    """While a program profiles itself, the call is done once and not counted."""
    calls: list[int] = []
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        _, launches = gpu.launches_in(lambda: calls.append(1))
        torch.ones(4)
    assert (calls, launches) == ([1], None)
    assert "aten::ones" in {event.name for event in profile.events()}


def test_torchs_own_allocator_frees_without_the_stream(torch: ModuleType) -> None:
    """It is the one that torch takes when nothing else was asked for."""
    assert torch.cuda.get_allocator_backend() == "native"
    assert gpu.frees_without_stream()


def test_a_device_of_torchs_is_refused_by_its_kind(torch: ModuleType) -> None:
    """``torch.device`` is what the nodes are given."""
    with pytest.raises(UnavailableError, match="runs this model on 'cpu'"):
        gpu.refuse_unless_divisible(torch.device("cpu"), 32)
    assert gpu.index_of(torch.device("cuda:1")) == 1


@pytest.mark.usefixtures("gpu")
def test_a_device_without_a_number_is_the_current_one() -> None:
    """``cuda`` means whichever GPU the thread uses."""
    assert gpu.index_of(FakeDevice("cuda", None)) == 0
