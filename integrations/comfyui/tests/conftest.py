"""A fake GPU under a fake ComfyUI, for every test of the nodes."""

from __future__ import annotations

import sys

import pytest

import tailwave
from integrations.comfyui import pool
from integrations.comfyui.pool import Pool
from integrations.comfyui.tests.fake_comfy import install_comfy
from integrations.comfyui.tests.fake_gpu import FakeGpu, fake_torch


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    """Return the GPU; ComfyUI is a version without a compiler, and no partition is open."""
    gpu = FakeGpu()
    monkeypatch.setattr(tailwave, "partition", gpu.partition, raising=False)
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpu))
    monkeypatch.setattr(pool, "POOL", Pool())
    install_comfy(monkeypatch)
    return gpu
