"""Keeps torch's compiler from taking the hook's own frames for the program's."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tailwave.cures.hook.arrival import when_imported
from tailwave.cures.hook.guard import Guard

# Nothing that is traced calls into these files, so that frames in them can be passed over whole.
_OWN_FILES = ("tailwave.cures.hook.actions", "tailwave.cures.hook.guard")


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
