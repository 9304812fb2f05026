"""Compiles the program's outermost modules with torch.compile."""

from __future__ import annotations

import importlib
import sys
import weakref
from types import ModuleType
from typing import Any

from tailwave.cures.hook.actions.base import Action
from tailwave.cures.hook.outermost import Plain, hand_over, is_compiled, whole

_GRAPHED = "reduce-overhead"  # the mode whose outputs lie in the memory of a CUDA graph


class Compile(Action):
    """``module.compile(mode=...)`` for each module that the program calls by itself.

    One without parameters (a loss, a metric) stays, and so does one that the program compiles. What
    cannot be compiled runs as it is: torch's own way to skip it is switched on.
    """

    IDLE = "the program called no module that has parameters"

    def on_torch(self, torch: ModuleType) -> None:
        """Change what a module's call does."""
        self._torch = torch
        self._mode = str(self.parameters["mode"])
        self._looked_at: weakref.WeakSet[Any] = weakref.WeakSet()
        self._compiled: weakref.WeakSet[Any] = weakref.WeakSet()
        hand_over(torch, self._call)

    def seen(self) -> dict[str, object]:
        """Return what torch counted; `applied` needs a compiled frame."""
        if "torch._dynamo.utils" not in sys.modules:
            return dict(self.counts)
        counted = sys.modules["torch._dynamo.utils"].counters
        frames = counted["frames"]
        self.applied = self.counts["modules"] > 0 and frames["ok"] > 0
        if self.counts["modules"] and not self.applied:
            self.refuse("torch.compile compiled no part of the modules: see its warnings")
        return {
            **self.counts,
            "compiled": counted["stats"]["unique_graphs"],
            "frames": frames["ok"],
            "frames_failed": frames["total"] - frames["ok"],
            "graph_breaks": sum(counted["graph_break"].values()),
            "cudagraph_skips": counted["inductor"]["cudagraph_skips"],
        }

    def _call(self, plain: Plain, module: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        if module not in self._looked_at:
            self._looked_at.add(module)
            self.attempt(lambda: self._compile(module))
        result = plain(module, *args, **kwargs)
        if self._mode == _GRAPHED and module in self._compiled:
            return self._kept(result)
        return result

    def _compile(self, module: Any) -> None:  # noqa: ANN401
        if next(module.parameters(), None) is None:
            return
        if is_compiled(module):
            self.refuse("the program compiles its modules itself")
            return
        importlib.import_module("torch._dynamo").config.suppress_errors = True
        module._compiled_call_impl = self._torch.compile(  # noqa: SLF001  as module.compile() does
            whole(module), mode=None if self._mode == "default" else self._mode
        )
        self._compiled.add(module)
        self.counts["modules"] += 1

    def _kept(self, result: object) -> object:
        """Copy tensors out of the graph's memory, which the next call writes over."""
        tree = importlib.import_module("torch.utils._pytree")
        return tree.tree_map_only(self._torch.Tensor, _copy, result)


def _copy(tensor: Any) -> Any:  # noqa: ANN401  torch's
    return tensor.clone() if tensor.is_cuda else tensor
