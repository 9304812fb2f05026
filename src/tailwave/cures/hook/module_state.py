"""What a module's forward depends on besides its arguments, where a graph would not follow it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from tailwave.cures.hook.calls import pass_over

# The ways in which a program changes a module. (Lists and other objects that a module holds can be
# changed in place unseen: a graph is only as safe as forward is a function of the module.)
_CHANGES = (
    "__setattr__",
    "__delattr__",
    "_apply",  # .to(), .half(), .cuda()
    "add_module",
    "load_state_dict",
    "register_buffer",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_parameter",
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL_HOOKS = tuple(f"_global{name}" for name in _HOOKS)
_TENSORS = ("_parameters", "_buffers")
_CHILDREN = "_modules"
_VALUES = (bool, int, float, str, type(None))


class Changes:
    """Counts the changes to all modules: without one, no module need be looked at again."""

    def __init__(self, torch: ModuleType) -> None:
        """Count from now on."""
        self.count = 0
        compiling = torch.compiler.is_compiling
        for name in _CHANGES:
            setattr(
                torch.nn.Module, name, self._counting(getattr(torch.nn.Module, name), compiling)
            )

    def _counting(
        self, plain: Callable[..., object], compiling: Callable[[], bool]
    ) -> Callable[..., object]:
        @wraps(plain)
        def change(*args: object, **kwargs: object) -> object:
            if not compiling():  # else each count would be a new program to the compiler
                self.count += 1
            return plain(*args, **kwargs)

        pass_over(change)
        return change


def has_hooks(torch: ModuleType, module: Any) -> bool:  # noqa: ANN401  an nn.Module
    """Tell whether code of the program's own runs around a module or a part of it."""
    everywhere = torch.nn.modules.module
    return any(getattr(everywhere, name, None) for name in _GLOBAL_HOOKS) or any(
        getattr(part, name, None) for part in module.modules() for name in _HOOKS
    )


def state(module: Any) -> list[object]:  # noqa: ANN401  an nn.Module
    """Return what tells one state of a module from another: values by value, the rest by identity.

    Parameters and buffers count by their memory, for a graph reads whatever lies there.
    """
    return [fact for part in module.modules() for fact in _facts(part)]


class _Same:
    """Is equal to the same object alone, and keeps it, so that no other one can take its place."""

    def __init__(self, item: object) -> None:
        self._item = item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._item is other._item

    __hash__ = None  # type: ignore[assignment]


def _facts(part: Any) -> list[object]:  # noqa: ANN401  an nn.Module
    facts: list[object] = []
    for name, value in part.__dict__.items():
        if name in _TENSORS:
            facts += [(key, _memory(tensor)) for key, tensor in value.items()]
        elif name == _CHILDREN:
            facts += [(key, _Same(child)) for key, child in value.items()]
        elif isinstance(value, _VALUES):
            facts.append((name, type(value), value))
        else:
            facts.append((name, _Same(value)))
    return facts


def _memory(tensor: Any) -> tuple[object, ...]:  # noqa: ANN401  torch's, or None
    if tensor is None:
        return ()
    return (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
