"""Staging with a CuPy whose copies come late, and with a torch of the CPU that seems to be more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tailwave
from tailwave.errors import UsageError
from tailwave.inprocess.lanes import CupyLane, TorchLane
from tests.inprocess.fakes import Cuda, CupyArray, cupy


@pytest.fixture(autouse=True)
def _with_cupy(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> None:
    del cuda
    monkeypatch.setitem(sys.modules, "cupy", cupy())


def reused(count: int) -> Iterator[dict[str, Any]]:
    """Make batches in one array, written over each time, of shapes that differ."""
    memory = np.zeros(1000, dtype=np.float32)
    for number in range(count):
        memory[:] = number
        yield {"x": memory[: 100 * (1 + number % 3)].reshape(10, -1), "name": f"batch {number}"}


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_batches_arrive_equal_and_in_order(ahead: int) -> None:
    """Though the loader writes over its memory, and copies run when the stream gets there."""
    seen = []
    for batch in tailwave.staged(reused(17), ahead):
        assert isinstance(batch["x"], CupyArray)
        seen.append((batch["name"], batch["x"].content.shape, set(batch["x"].content.flat)))
    assert seen == [(f"batch {n}", (10, 10 * (1 + n % 3)), {float(n)}) for n in range(17)]


def test_no_more_than_ahead_is_asked_of_the_loader() -> None:
    """One in use and so many to come."""
    asked: list[int] = []

    def loader() -> Iterator[int]:
        for number in range(10):
            asked.append(number)
            yield number

    batches = tailwave.staged(loader(), ahead=3)
    assert asked == []
    assert (next(batches), asked) == (0, [0, 1, 2, 3])
    assert (next(batches), asked) == (1, [0, 1, 2, 3, 4])
    assert list(batches) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_an_error_of_the_loader_comes_in_its_place() -> None:
    """After the batches before it; the loader is not asked again."""

    def loader() -> Iterator[int]:
        yield from range(3)
        raise OSError("disk")

    batches = tailwave.staged(loader(), ahead=5)
    assert [next(batches), next(batches), next(batches)] == [0, 1, 2]
    with pytest.raises(OSError, match="disk"):
        next(batches)
    assert list(batches) == []


def test_what_is_no_array_of_numbers_passes_unchanged() -> None:
    """Texts, objects and times are not for CuPy."""
    batch = (np.array(["a"]), np.array([None]), np.array(["2026-01-01"], "M8[D]"), "text", None, 3)
    (passed,) = tailwave.staged([batch])
    assert all(one is other for one, other in zip(passed, batch, strict=True))


def test_leaving_early_waits_for_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's memory is given out again whether or not a copy is on its way."""
    lanes: list[CupyLane] = []
    make = CupyLane.__init__

    def remembered(lane: CupyLane, *args: Any) -> None:  # noqa: ANN401
        lanes.append(lane)
        make(lane, *args)

    monkeypatch.setattr(CupyLane, "__init__", remembered)
    batches = tailwave.staged(reused(9))
    next(batches)
    assert lanes[0]._side.work != []  # noqa: SLF001  the stream's work that is left
    batches.close()  # type: ignore[attr-defined]
    assert lanes[0]._side.work == []  # noqa: SLF001


@pytest.mark.parametrize("ahead", [0, -1, True, 1.5])
def test_ahead_is_one_or_more(ahead: int) -> None:
    """Refused at the call, not at the first batch."""
    with pytest.raises(UsageError, match="ahead is 1 or more, not"):
        tailwave.staged([], ahead)


def test_without_torch_or_cupy_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the call too."""
    monkeypatch.delitem(sys.modules, "cupy")
    with pytest.raises(UsageError, match="Neither torch nor CuPy"):
        tailwave.staged([])


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
    """Real tensors through the lane; buffers are made once, and again for what is larger."""
    torch: Any = pytest.importorskip("torch")
    log: list[str] = []
    lane = TorchLane(cpu_torch(torch, log), 1)
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
        lane.begin(0)
        for tensor in plain:
            assert lane.takes(tensor)
            sent = lane.send(tensor)
            assert torch.equal(sent, tensor)
            assert sent.dtype == tensor.dtype
            assert sent.stride() == torch.empty_like(tensor).stride()
            assert sent.data_ptr() != tensor.data_ptr() or tensor.numel() == 0
        lane.end(0)
    assert log == ["synchronize", *["side"] * len(plain), "record"]


def test_tensors_that_are_more_than_bytes_are_copied_by_torch() -> None:
    """Those with a gradient keep it, sparse ones and subclasses their kind."""
    torch: Any = pytest.importorskip("torch")
    log: list[str] = []
    lane = TorchLane(cpu_torch(torch, log), 1)
    lane.begin(0)
    leaf = torch.ones(3, requires_grad=True)
    assert lane.send(leaf).requires_grad
    assert lane.send(torch.eye(3).to_sparse()).is_sparse
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(lane.send(parameter)) is torch.nn.Parameter
    assert log == ["synchronize"]
    assert not lane.takes(np.zeros(3))
    assert not lane.takes(torch.empty(1, device="meta"))
