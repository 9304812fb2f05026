"""A stream as torch, CuPy and any other library take it, and how it becomes the current one."""

from __future__ import annotations

import sys

import pytest

import tailwave
from tailwave.errors import UsageError
from tests.cures.library.fakes import Cuda, Torch


def test_any_library_takes_it(cuda: Cuda) -> None:
    """The protocol's version and the driver's handle."""
    with tailwave.priority("high") as stream:
        assert stream.__cuda_stream__() == (0, stream.handle)
        assert stream.handle in cuda.streams


def test_a_closed_stream_says_so(cuda: Cuda) -> None:
    """Its handle is no stream any more; closing again does nothing."""
    stream = tailwave.priority("high")
    stream.close()
    stream.close()
    assert cuda.log == ["sync", "stream closed"]
    for use in (lambda: stream.handle, stream.__cuda_stream__):
        with pytest.raises(UsageError, match="This stream is closed"):
            use()


def test_current_waits_both_ways(torch: Torch) -> None:
    """It follows the stream that was current, and that one follows it."""
    with tailwave.priority("high") as stream:
        with stream.current():
            assert torch.now.cuda_stream == stream.handle
            assert torch.log == [f"{stream.handle} waits for 0"]
        assert torch.log == [f"{stream.handle} waits for 0", f"0 waits for {stream.handle}"]
    assert torch.now.cuda_stream == 0


def test_current_is_undone_on_an_exception(torch: Torch) -> None:
    """The stream from before is current again, and waits all the same."""
    with (
        tailwave.priority("high") as stream,
        pytest.raises(ValueError, match="mine"),
        stream.current(),
    ):
        raise ValueError("mine")
    assert torch.now.cuda_stream == 0
    assert torch.log[-1].startswith("0 waits for")


def test_current_nests(torch: Torch) -> None:
    """The inner one follows the outer, and gives it back."""
    with tailwave.priority("high") as outer, tailwave.priority("low") as inner:
        with outer.current():
            with inner.current():
                assert torch.now.cuda_stream == inner.handle
            assert torch.now.cuda_stream == outer.handle
        assert torch.log == [
            f"{outer.handle} waits for 0",
            f"{inner.handle} waits for {outer.handle}",
            f"{outer.handle} waits for {inner.handle}",
            f"0 waits for {outer.handle}",
        ]


def test_without_torch_or_cupy_there_is_no_current_stream(cuda: Cuda) -> None:
    """Each way to one says what to import."""
    del cuda
    with tailwave.priority("high") as stream:
        with pytest.raises(UsageError, match="Neither torch nor CuPy"), stream.current():
            pass
        with pytest.raises(UsageError, match="import torch first"):
            stream.torch()
        with pytest.raises(UsageError, match="import cupy first"):
            stream.cupy()


def test_a_torch_without_a_gpu_is_none(torch: Torch) -> None:
    """A torch for CPUs only has no current stream to change."""
    torch.initialized = torch.available = False
    with (
        tailwave.priority("high") as stream,
        pytest.raises(UsageError, match="Neither torch nor CuPy"),
        stream.current(),
    ):
        pass


def test_a_half_imported_torch_is_none(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> None:
    """While torch is being imported it has no `cuda` yet."""
    del cuda
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    with tailwave.priority("high") as stream, pytest.raises(UsageError, match="import torch"):
        stream.torch()


def test_torchs_stream_keeps_ours_open(torch: Torch) -> None:
    """Who holds torch's stream holds ours, which else would go with its last name."""
    del torch
    with tailwave.priority("high") as stream:
        assert stream.torch().work_stream is stream
