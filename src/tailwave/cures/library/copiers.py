"""Copies a batch's leaves to the GPU: torch's tensors, or numpy's arrays with CuPy.

A copier has a ring of slots of pinned memory. A batch takes one slot: its leaves are copied there
at once, so that a loader may write over its own memory, and from there to the GPU on a side stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


class Copier(ABC):
    """One framework's way to the GPU."""

    def __init__(self, side: Any, arrived: Sequence[Any]) -> None:  # noqa: ANN401  the frameworks'
        """Take the stream that copies, and an event for each batch that may be on its way."""
        self._side, self._arrived = side, arrived
        self._buffers: list[list[Any]] = [[] for _ in arrived]
        self._slot, self._used = 0, 0

    @abstractmethod
    def takes(self, leaf: object) -> bool:
        """Whether it copies such a leaf."""

    def begin(self, slot: int) -> None:
        """Begin a batch in a slot, once what was in it has arrived."""
        self._arrived[slot].synchronize()
        self._slot, self._used = slot, 0

    @abstractmethod
    def send(self, leaf: Any) -> Any:  # noqa: ANN401  the frameworks'
        """Start a leaf on its way; return what will be there."""

    def end(self, slot: int) -> None:
        """Note how far the side stream must get for the batch to be there."""
        self._arrived[slot].record(self._side)

    @abstractmethod
    def hand_over(self, slot: int) -> None:
        """Let the consumer's current stream wait for the batch, which it owns from now on."""

    @abstractmethod
    def close(self) -> None:
        """Let the copies arrive that nobody waits for."""

    @abstractmethod
    def _allocate(self, nbytes: int) -> Any:  # noqa: ANN401  the frameworks'
        """Return pinned memory as an array of bytes."""

    def _pinned(self, nbytes: int) -> Any:  # noqa: ANN401  the frameworks'
        """Return that many bytes of the slot for its next leaf."""
        buffers, place = self._buffers[self._slot], self._used
        self._used += 1
        if place == len(buffers):
            buffers.append(None)
        if buffers[place] is None or len(buffers[place]) < nbytes:
            buffers[place] = self._allocate(nbytes)
        return buffers[place][:nbytes]


class TorchCopier(Copier):
    """CPU tensors of torch."""

    def __init__(self, torch: ModuleType, slots: int) -> None:
        """Take torch, and how many batches are on their way at most."""
        self._torch = torch
        self._device = torch.device("cuda", torch.cuda.current_device())
        side = torch.cuda.Stream(self._device)
        super().__init__(side, [torch.cuda.Event() for _ in range(slots)])
        self._sent: list[list[Any]] = [[] for _ in range(slots)]

    def takes(self, leaf: object) -> bool:
        """Whether it is a tensor of the host."""
        return isinstance(leaf, self._torch.Tensor) and leaf.device.type == "cpu"

    def send(self, leaf: Any) -> Any:  # noqa: ANN401
        """Start a tensor on its way."""
        if not self._plain(leaf):
            return leaf.to(self._device)
        # Not in inference mode, where tensors are made that may not be written to outside it.
        with (
            self._torch.inference_mode(mode=False),
            self._torch.no_grad(),
            self._torch.cuda.stream(self._side),
        ):
            sent = self._torch.empty_like(leaf, device=self._device)
            staged = self._pinned(leaf.nbytes).view(leaf.dtype)
            staged = staged.as_strided(sent.size(), sent.stride()).copy_(leaf)
            sent.copy_(staged, non_blocking=True)
        self._sent[self._slot].append(sent)
        return sent

    def hand_over(self, slot: int) -> None:
        """Let the consumer's stream wait, and torch not reuse the memory before it is done."""
        current = self._torch.cuda.current_stream(self._device)
        current.wait_event(self._arrived[slot])
        for tensor in self._sent[slot]:
            tensor.record_stream(current)
        self._sent[slot] = []

    def close(self) -> None:
        """Do nothing: torch keeps pinned memory until copies from it have arrived."""

    def _plain(self, leaf: Any) -> bool:  # noqa: ANN401
        """Whether a copy of the bytes is a copy of the tensor."""
        return (
            type(leaf) is self._torch.Tensor
            and leaf.layout is self._torch.strided
            and not (leaf.requires_grad or leaf.is_quantized)
        )

    def _allocate(self, nbytes: int) -> Any:  # noqa: ANN401
        return self._torch.empty(nbytes, dtype=self._torch.uint8, pin_memory=True)


class CupyCopier(Copier):
    """Arrays of numpy, which become CuPy's."""

    def __init__(self, cupy: ModuleType, slots: int) -> None:
        """Take CuPy, and how many batches are on their way at most."""
        self._cupy = cupy
        side = cupy.cuda.Stream(non_blocking=True)
        super().__init__(side, [cupy.cuda.Event(disable_timing=True) for _ in range(slots)])

    def takes(self, leaf: object) -> bool:
        """Whether it is an array of numbers: CuPy has no objects, texts or times."""
        return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "?biufc"

    def begin(self, slot: int) -> None:
        """Begin a batch in a slot, once what was in it has arrived.

        CuPy gives memory out again to the stream that it was made for, so arrays are made for the
        consumer's; what that has still to do on memory used again goes first.
        """
        super().begin(slot)
        self._side.wait_event(self._cupy.cuda.get_current_stream().record())

    def send(self, leaf: Any) -> Any:  # noqa: ANN401
        """Start an array on its way."""
        sent = self._cupy.empty(leaf.shape, dtype=leaf.dtype)
        staged = self._pinned(leaf.nbytes).view(leaf.dtype).reshape(leaf.shape)
        staged[...] = leaf
        sent.set(staged, stream=self._side)
        return sent

    def hand_over(self, slot: int) -> None:
        """Let the consumer's stream wait."""
        self._cupy.cuda.get_current_stream().wait_event(self._arrived[slot])

    def close(self) -> None:
        """Wait: CuPy gives memory out again whether or not a copy of it is on its way."""
        self._side.synchronize()

    def _allocate(self, nbytes: int) -> Any:  # noqa: ANN401
        memory = self._cupy.cuda.alloc_pinned_memory(max(nbytes, 1))
        return np.frombuffer(memory, np.uint8, max(nbytes, 1))
