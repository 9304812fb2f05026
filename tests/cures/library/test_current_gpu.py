"""How a program's GPU is opened: in words for a program, with the thread's context left alone."""

from __future__ import annotations

import sys

import pytest

import tailwave
from tailwave.cures.library.gpu import on_current_gpu
from tailwave.errors import UnavailableError
from tests.cures.library.fakes import PRIMARY, Cuda, Torch, cupy, installed


def test_inside_the_primary_context_is_current(cuda: Cuda) -> None:
    """And after it the one from before, also on an exception."""
    inside: list[object] = []

    def use() -> None:
        with on_current_gpu() as gpu:
            inside.extend((cuda.current, gpu.number))
            raise ValueError("mine")

    cuda.current = "mine"
    with pytest.raises(ValueError, match="mine"):
        use()
    assert (inside, cuda.current) == ([PRIMARY, 0], "mine")


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line's other choice, a simulated GPU, is none for a program."""
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    for use in (lambda: tailwave.partition(8), lambda: tailwave.host_wait("spin")):
        with pytest.raises(UnavailableError) as caught:
            use()
        assert str(caught.value).endswith("run `pip install 'tailwave[cuda]'`.")


def test_without_a_driver_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """No libcuda.so is no NVIDIA driver."""
    installed(monkeypatch, Cuda(faults={"load": "no"}))
    for use in (lambda: tailwave.priority("high"), lambda: tailwave.host_wait("spin")):
        with pytest.raises(UnavailableError) as caught:
            use()
        assert str(caught.value) == (
            "There is no NVIDIA driver here: install it, or give the container a GPU "
            "(`--gpus all`)."
        )


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that sees no GPU."""
    installed(monkeypatch, Cuda(faults={"Device": "CUDA_ERROR_NO_DEVICE"}))
    with pytest.raises(UnavailableError) as caught:
        tailwave.priority("high")
    assert "no CUDA GPU is visible" in str(caught.value)
    assert "sim:" not in str(caught.value)


def test_a_driver_of_an_older_major_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says which package fits."""
    installed(monkeypatch, Cuda(driver=12040))
    with pytest.raises(UnavailableError, match=r"pip install 'tailwave\[cuda12\]'"):
        tailwave.partition(8)


def opened_number(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> int:
    """Return which number the GPU is opened by."""
    numbers: list[int] = []

    def device(number: int) -> object:
        numbers.append(number)
        return cuda.device

    monkeypatch.setattr(cuda.core, "Device", device)
    with on_current_gpu():
        return numbers[0]


def test_the_gpu_is_torchs_current_one(
    monkeypatch: pytest.MonkeyPatch, cuda: Cuda, torch: Torch
) -> None:
    """Once torch has begun to use a GPU."""
    monkeypatch.setattr(torch.module.cuda, "current_device", lambda: 3)
    assert opened_number(monkeypatch, cuda) == 3


def test_a_torch_that_uses_no_gpu_yet_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, cuda: Cuda, torch: Torch
) -> None:
    """Asking would make its context, before the program has set what must be set before."""
    torch.initialized = False
    monkeypatch.setattr(torch.module.cuda, "current_device", lambda: 3)
    assert opened_number(monkeypatch, cuda) == 0


def test_the_gpu_is_cupys_current_one(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> None:
    """Without torch."""
    module = cupy()
    monkeypatch.setattr(module.cuda.runtime, "getDevice", lambda: 2)
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert opened_number(monkeypatch, cuda) == 2


def test_the_gpu_is_that_of_the_current_context(
    monkeypatch: pytest.MonkeyPatch, cuda: Cuda
) -> None:
    """Without either; the first where there is no context."""
    monkeypatch.setattr(cuda.driver, "cuCtxGetDevice", lambda: (0, 1))
    assert opened_number(monkeypatch, cuda) == 1
    monkeypatch.setattr(cuda.driver, "cuCtxGetDevice", lambda: (201, 0))
    assert opened_number(monkeypatch, cuda) == 0
