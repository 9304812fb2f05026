"""The ways to the GPU by themselves; torch's with a torch of the CPU that seems to have one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tailwave.cures.library.copiers import CupyCopier, TorchCopier
from tests.cures.library.fakes import cupy


def cpu_torch(torch: Any, log: list[str]) -> Any:  # noqa: ANN401
    """Make of a torch of the CPU one that has a GPU, by the CPU's memory."""

    @contextmanager
    def use(_: object) -> Iterator[None]:
        log.append("side")
        yield

    class Event:
        def record(self, _: object) -> None:
            log.append("record")

        def synchronize(self) -> None:
            log.append("synchronize")

    cuda = SimpleNamespace(
        current_device=lambda: 0,
        Stream=lambda _: "side",
        Event=Event,
        stream=use,
        current_stream=lambda _: SimpleNamespace(wait_event=lambda _: log.append("wait")),
    )

    def empty(*args: Any, pin_memory: bool, **more: Any) -> Any:  # noqa: ANN401
        assert pin_memory
        log.append("pinned")
        return torch.empty(*args, **more)

    def device(*_: object) -> Any:  # noqa: ANN401
        return torch.device("cpu")

    names = ("Tensor", "inference_mode", "no_grad", "empty_like", "strided", "uint8")
    shared = {name: getattr(torch, name) for name in names}
    return SimpleNamespace(cuda=cuda, empty=empty, device=device, **shared)


def test_tensors_keep_values_strides_and_types() -> None:
    """Real tensors through the copier; buffers are made once, and again for what is larger."""
    torch: Any = pytest.importorskip("torch")
    log: list[str] = []
    copier = TorchCopier(cpu_torch(torch, log), 1)
    plain = [
        torch.randn(4, 5, 6).to(torch.bfloat16),
        torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.randn(6, 5).t(),
        torch.ones(1).expand(7),
        torch.tensor(3),
        torch.tensor([True, False]),
        torch.empty(0, 4),
    ]
    for _ in range(2):
        log.clear()
        copier.begin(0)
        for tensor in plain:
            assert copier.takes(tensor)
            sent = copier.send(tensor)
            assert torch.equal(sent, tensor)
            assert sent.dtype == tensor.dtype
            assert sent.stride() == torch.empty_like(tensor).stride()
            assert sent.data_ptr() != tensor.data_ptr() or tensor.numel() == 0
        copier.end(0)
    assert log == ["synchronize", *["side"] * len(plain), "record"]


def test_tensors_that_are_more_than_bytes_are_copied_by_torch() -> None:
    """Those with a gradient keep it, sparse ones and subclasses their kind."""
    torch: Any = pytest.importorskip("torch")
    log: list[str] = []
    copier = TorchCopier(cpu_torch(torch, log), 1)
    copier.begin(0)
    leaf = torch.ones(3, requires_grad=True)
    assert copier.send(leaf).requires_grad
    assert copier.send(torch.eye(3).to_sparse()).is_sparse
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(copier.send(parameter)) is torch.nn.Parameter
    assert log == ["synchronize"]
    assert not copier.takes(np.zeros(3))
    assert not copier.takes(torch.empty(1, device="meta"))


def test_a_slot_is_written_over_only_when_its_copies_have_arrived() -> None:
    """The host waits for them, for it is the host that writes."""
    copier = CupyCopier(cupy(), 1)
    arrays = []
    for number in range(3):
        copier.begin(0)
        arrays.append(copier.send(np.full(4, number)))
        copier.end(0)
    copier.close()
    assert [array.content.tolist() for array in arrays] == [[0] * 4, [1] * 4, [2] * 4]
