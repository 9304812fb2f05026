"""Tensors and modules."""

from __future__ import annotations

from types import SimpleNamespace


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

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call it."""
        return self.forward(*args, **kwargs)

    def forward(self, value: object) -> object:
        """Return what came."""
        return value

    def _change(self) -> None:
        """Change something."""

    _apply = add_module = load_state_dict = register_buffer = register_parameter = _change
    register_forward_hook = register_forward_pre_hook = _change
