"""Compile the model with torch.compile."""

from __future__ import annotations

import importlib
import sys
import weakref
from types import ModuleType
from typing import Any

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism, one_of
from tailwave.cures.hook.action import Action
from tailwave.cures.hook.calls import Plain, hand_over, is_compiled, whole

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


class CompileCure(CureInProgram):
    """Works where Dynamo compiled frames that then ran.

    Only the mode with graphs is guessed: each costs a run a minute, and the other can be named.
    """

    name = "compile"
    label = "torch.compile"
    does = (
        'Operators are fused into fewer, larger kernels, and mode "reduce-overhead" also replays '
        "them as CUDA graphs. The results may differ in the last digits."
    )
    needs = "A PyTorch program, Triton and a C compiler; the first steps take a minute or more."
    advice = "Fuse the step's small operators: torch.compile, or kernels that do more each."
    answers = ("compile",)
    example = _GRAPHED
    action = Compile

    def options(self, parameter: str) -> dict[str, str | int]:
        """One mode."""
        return {"mode": one_of(self.name, parameter, ("default", _GRAPHED))}

    def judged(self, _: str, report: ActionReport) -> Mechanism:
        """Count what was compiled."""
        compiled = report.total("compiled")
        if not compiled:
            return report.missing("nothing was compiled")
        what = "graph" if compiled == 1 else "graphs"
        skipped = report.total("cudagraph_skips")
        but = f" and left {skipped} of its CUDA graphs out" if skipped else ""
        sentence = f"torch.compile compiled {compiled} {what} of operators{but}."
        return Mechanism(works=True, sentence=sentence)

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """PyTorch's own."""
        return (f'model = torch.compile(model, mode="{parameter}")',)
