"""No test here finds a torch or a CuPy that another has imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.cures.library.fakes import Cuda, Torch, installed


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    """Install a CUDA with nothing wrong, and neither torch nor CuPy."""
    for name in ("torch", "cupy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return installed(monkeypatch, Cuda())


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> Iterator[Torch]:
    """Install a torch beside CUDA."""
    made = Torch()
    cuda.current = "torch's"
    monkeypatch.setitem(sys.modules, "torch", made.module)
    yield made
    assert cuda.current == "torch's"
