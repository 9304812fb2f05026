"""Staging with a CuPy whose copies come late."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tailwave
from tailwave.cures.library.copiers import CupyCopier
from tailwave.errors import UsageError
from tests.cures.library.fakes import Cuda, CupyArray, cupy


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
    copiers: list[CupyCopier] = []
    make = CupyCopier.__init__

    def remembered(copier: CupyCopier, *args: Any) -> None:  # noqa: ANN401
        copiers.append(copier)
        make(copier, *args)

    monkeypatch.setattr(CupyCopier, "__init__", remembered)
    batches = tailwave.staged(reused(9))
    next(batches)
    assert copiers[0]._side.work != []  # noqa: SLF001  the stream's work that is left
    batches.close()  # type: ignore[attr-defined]
    assert copiers[0]._side.work == []  # noqa: SLF001


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
