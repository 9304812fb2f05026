"""Tensors and modules."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Tensor:
    """A tensor that knows its device."""

    def __init__(self, device: str = "cpu", *, floating: bool = True) -> None:
        """Make one."""
        self.device, self.layout = SimpleNamespace(type=device), "strided"
        self._floating = floating

    def is_floating_point(self) -> bool:
        """Tell the kind of its numbers."""
        return self._floating


class Parameter(Tensor):
    """A tensor to learn."""


class Module:
    """Calls its forward."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self.forward(*args, **kwargs)

    def forward(self, value: Any) -> Any:
        """Return what came."""
        return value

    def _apply(self) -> None: ...
    def add_module(self) -> None: ...
    def load_state_dict(self) -> None: ...
    def register_buffer(self) -> None: ...
    def register_forward_hook(self) -> None: ...
    def register_forward_pre_hook(self) -> None: ...
    def register_parameter(self) -> None: ...
