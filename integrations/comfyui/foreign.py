"""What is used of ComfyUI's, torch's and tailwave's objects, as types: none need be installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, Self


class Device(Protocol):
    """``torch.device``."""

    @property
    def type(self) -> str:
        """Return "cuda", "cpu" or another kind."""

    @property
    def index(self) -> int | None:
        """Which of them; None for the current one."""


class Tensor(Protocol):
    """A tensor, of which only its place matters here."""

    @property
    def device(self) -> Device:
        """Where it lies."""


class Patcher(Protocol):
    """``comfy.model_patcher.ModelPatcher``: a MODEL as nodes hand it on."""

    @property
    def load_device(self) -> Device:
        """Where it runs."""

    def clone(self) -> Self:
        """Return another view of the same weights, with patches and wrappers of its own."""

    def add_wrapper_with_key(
        self, wrapper_type: str, key: str, wrapper: Callable[..., object]
    ) -> None:
        """Put a wrapper around one of the sampler's calls."""

    def remove_wrappers_with_key(self, wrapper_type: str, key: str) -> None:
        """Take away what was added under a key; nothing if there is none."""

    def set_attachments(self, key: str, attachment: object) -> None:
        """Keep an object with the model and its clones."""

    def get_attachment(self, key: str) -> object | None:
        """Return what is kept under a key."""


class Group(Protocol):
    """``tailwave.partition``'s group of SMs."""

    sm_count: int
    note: str

    def current(self) -> AbstractContextManager[object]:
        """Make its stream the current one: after the stream before, and that one after it."""

    def prove(self) -> frozenset[int]:
        """Run a kernel in it and return the SMs that it ran on."""

    def close(self) -> None:
        """Destroy the stream and its context."""


class Event(Protocol):
    """``torch.cuda.Event``."""

    def record(self) -> None:
        """Enqueue it on the current stream."""

    def synchronize(self) -> None:
        """Wait until the GPU has come to it."""

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds from here to another event."""
