"""Hands the outermost calls of modules to an action; the calls inside them run as they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from tailwave.cures.hook.compiler import pass_over

Plain = Callable[..., Any]
Handler = Callable[[Plain, Any, tuple[Any, ...], dict[str, Any]], Any]


def hand_over(torch: ModuleType, handler: Handler) -> None:
    """Have ``handler(plain, module, args, kwargs)`` make each outermost call of an nn.Module.

    A call that torch.compile is looking at is not a call.
    """
    plain = torch.nn.Module.__call__
    compiling = torch.compiler.is_compiling
    inside = threading.local()

    @wraps(plain)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  the program's
        if compiling() or getattr(inside, "a_call", False):
            return plain(module, *args, **kwargs)
        inside.a_call = True
        try:
            return handler(plain, module, args, kwargs)
        finally:
            inside.a_call = False

    pass_over(call)
    torch.nn.Module.__call__ = call


def is_compiled(module: Any) -> bool:  # noqa: ANN401  torch is not imported here
    """Tell whether the program has compiled a module, or a part of it, itself."""
    return any(
        getattr(part, "_compiled_call_impl", None) is not None
        or type(part).__name__
        in {"OptimizedModule", "RecursiveScriptModule", "TopLevelTracedModule"}
        for part in module.modules()
    )


def whole(module: Any) -> Plain:  # noqa: ANN401  torch is not imported here
    """Return a module's call as a function of this file.

    The compiler passes over functions of torch's own files, and with them a module that is made of
    torch's alone (a Sequential): it would compile its parts one by one.
    """

    def call(*args: object, **kwargs: object) -> object:
        return module._call_impl(*args, **kwargs)  # noqa: SLF001

    return call
