"""The program's calls that an action takes over, and what torch's compiler may see of that."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from tailwave.cures.hook.arrival import when_imported
from tailwave.cures.hook.guard import Guard

Plain = Callable[..., Any]
Handler = Callable[[Plain, Any, tuple[Any, ...], dict[str, Any]], Any]
# Nothing that is traced calls into these files, so that frames in them can be passed over whole.
_OWN_FILES = ("tailwave.cures.catalogue", "tailwave.cures.hook.action", "tailwave.cures.hook.guard")


def pass_over(function: Any) -> None:  # noqa: ANN401  mypy has no name for a wrapped function
    """Have torch.compile never begin with this function, which may run inside what it compiles.

    It still sees what the function calls, as it does for torch's own ``Module.__call__``. Else a
    wrapper that all modules share would be compiled for each of them, until the compiler gives up.
    """

    def skip(_: ModuleType) -> None:
        with Guard():  # a torch whose compiler has no such setting compiles more often, that is all
            importlib.import_module("torch._C._dynamo.eval_frame").skip_code(function.__code__)
            rules = importlib.import_module("torch._dynamo.trace_rules")
            for name in _OWN_FILES:
                rules.add(name)

    when_imported("torch._dynamo", skip)


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
