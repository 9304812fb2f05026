"""Record the step once as a CUDA graph and replay it with one launch."""

from __future__ import annotations

import importlib
import weakref
from types import ModuleType
from typing import Any

from tailwave.cures.catalogue.base import (
    ActionReport,
    CureInProgram,
    Mechanism,
    Setting,
    busy_share,
)
from tailwave.cures.hook import module_state
from tailwave.cures.hook.action import Action
from tailwave.cures.hook.calls import Plain, hand_over, is_compiled
from tailwave.figures import percent

# A call is captured when it has come so often with arguments of the same kind: by then lazy set-up
# is over, and what comes once (a warm-up, a first prompt) has not cost a capture.
_SEEN_BEFORE = 3
# Graphs keep memory of their own, and the module. A program with more modules than this that it
# calls by themselves makes them as it goes.
_MOST_MODULES = 16
# The arguments that a graph may depend on; all else may change behind its back.
_PLAIN = (bool, int, float, str, type(None))


class CudaGraph(Action):
    """Outermost calls of modules, without gradients and on CUDA tensors, through `tailwave.graph`.

    That library compares each graph with the plain call on new inputs, and refuses what it cannot
    hold. Here a module stays plain when it has hooks, when the program compiles or captures it
    itself, and when an argument is anything but CUDA tensors and plain values; one that the
    program changes later (another precision, other weights) is captured anew.
    """

    IDLE = "the program called no module twice alike on the GPU without gradients"

    def on_torch(self, torch: ModuleType) -> None:
        """Change what a module's call does."""
        self._torch = torch
        self._changes = module_state.Changes(torch)
        self._modules: weakref.WeakKeyDictionary[Any, _Candidate] = weakref.WeakKeyDictionary()
        self._left: list[object] = []
        hand_over(torch, self._call)

    def forget(self) -> None:
        """Leave the parent's graphs alone: freeing them would call a CUDA that is not there."""
        super().forget()
        if self._ready:
            self._left.append(self._modules)
            self._modules = weakref.WeakKeyDictionary()

    def seen(self) -> dict[str, object]:
        """Return the graphs, their replays, and the calls without gradients that stayed plain."""
        graphed = [c.graphed for c in self._modules.values() if c.graphed is not None]
        replays = self.counts["replays"] + sum(g.replays for g in graphed)
        self.applied = replays > 0
        for reason in [g.why_plain for g in graphed if g.why_plain]:
            self.refuse(reason)
        return {
            "modules": len(graphed),
            "graphs": sum(len(g.graphs) for g in graphed),
            "replays": replays,
            "plain": self.counts["plain"] + sum(g.plain_calls for g in graphed),
            "agreement": sorted({g.agreement for g in graphed if g.agreement}),
        }

    def _call(self, plain: Plain, module: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        torch = self._torch
        if torch.is_grad_enabled() or not torch.cuda.is_initialized():
            return plain(module, *args, **kwargs)
        graphed = None
        with self._guard:
            graphed = self._graphed(plain, module, args, kwargs)
        if graphed is None:
            self.counts["plain"] += 1
            return plain(module, *args, **kwargs)
        return graphed(*args, **kwargs)

    def _graphed(self, plain: Plain, module: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        """Return what replays this call; None when it has to be plain."""
        kind = self._kind((args, kwargs))
        if kind is None or self._torch.cuda.is_current_stream_capturing():
            return None
        candidate = self._modules.get(module)
        if candidate is None:
            if len(self._modules) >= _MOST_MODULES:
                return None
            candidate = self._modules[module] = _Candidate()
        if candidate.changes != self._changes.count:
            self._look_again(candidate, module)
        if candidate.graphed is None and not candidate.refused and candidate.due(kind):
            self._capture(candidate, plain, module, (args, kwargs))
        return candidate.graphed

    def _look_again(self, candidate: _Candidate, module: Any) -> None:  # noqa: ANN401
        """Start a module anew if it is not what it was."""
        candidate.changes = self._changes.count
        state = module_state.state(module)
        if state == candidate.state:
            return
        candidate.state = state
        if candidate.graphed is not None:
            self.counts["replays"] += candidate.graphed.replays
            self.counts["plain"] += candidate.graphed.plain_calls
            candidate.graphed.close()
        candidate.graphed, candidate.refused = None, False
        candidate.times.clear()
        if module_state.has_hooks(self._torch, module):
            candidate.refused = True
            self.refuse(f"{type(module).__name__} has hooks")
        elif is_compiled(module):
            candidate.refused = True
            self.refuse("the program compiles its modules itself")

    def _capture(
        self,
        candidate: _Candidate,
        plain: Plain,
        module: Any,  # noqa: ANN401
        call: tuple[Any, Any],
    ) -> None:
        """Make the graph, or remember that there can be none."""
        torch = self._torch

        def forward(*args: object, **kwargs: object) -> object:
            # A weight cast for one autocast region is gone after it: a graph must cast its own.
            if torch.is_autocast_enabled("cuda"):
                dtype = torch.get_autocast_dtype("cuda")
                with torch.autocast("cuda", dtype=dtype, cache_enabled=False):
                    return plain(module, *args, **kwargs)
            return plain(module, *args, **kwargs)

        candidate.refused = True
        graph = importlib.import_module("tailwave.cures.library.graph").graph
        graphed = graph(forward, *call[0], **call[1])
        # Trial calls may have set attributes: a forward that leaves them otherwise has state.
        if module_state.state(module) != candidate.state:
            graphed.close()
            self.refuse(f"{type(module).__name__} changes itself when it is called")
            return
        candidate.changes = self._changes.count
        candidate.graphed, candidate.refused = graphed, False

    def _kind(self, tree: object) -> tuple[object, ...] | None:
        """Return what arguments are alike by; None where a graph could not follow them."""
        kind: list[object] = []
        if not self._add(tree, kind) or not any(isinstance(part, _Shape) for part in kind):
            return None
        return tuple(kind)

    def _add(self, item: object, kind: list[object]) -> bool:
        torch = self._torch
        if isinstance(item, torch.Tensor):
            if type(item) not in {torch.Tensor, torch.nn.Parameter} or not item.is_cuda:
                return False
            kind.append(_Shape((item.shape, item.stride(), item.dtype, item.device)))
            return True
        if isinstance(item, list | tuple):
            kind.append((type(item), len(item)))
            return all(self._add(part, kind) for part in item)
        if isinstance(item, dict):
            kind.append((type(item), tuple(item)))
            return all(self._add(part, kind) for part in item.values())
        kind.append((type(item), item))
        return isinstance(item, (*_PLAIN, torch.dtype, torch.device))


class _Shape(tuple[object, ...]):
    """What a tensor is alike by."""

    __slots__ = ()


class _Candidate:
    """A module on its way to a graph."""

    def __init__(self) -> None:
        self.changes = -1
        self.state: list[object] = []
        self.times: dict[tuple[object, ...], int] = {}
        self.refused = False
        self.graphed: Any = None

    def due(self, kind: tuple[object, ...]) -> bool:
        """Count a call; tell whether it has come often enough."""
        times = self.times[kind] = self.times.get(kind, 0) + 1
        if len(self.times) > 4 * _SEEN_BEFORE:  # arguments that never come again
            self.times.clear()
        return times >= _SEEN_BEFORE


# A graph fills gaps and makes no kernel faster: above this at most a tenth of the step can be won,
# and the launches that it saves are overlapped with kernels anyway.
_BUSY = 0.90


class CudaGraphCure(CureInProgram):
    """Works where graphs were replayed."""

    name = "cuda-graph"
    label = "the step as a CUDA graph"
    does = (
        "The host issues a whole step with one call; the kernels then follow each other on the GPU."
    )
    needs = (
        "A PyTorch program whose step has fixed shapes, no wait for the GPU and no memory from "
        "outside the pool; where the hook cannot be sure of that it leaves the step as it is. A "
        "GPU that idles: one that is busy for more than 90% of the step has nothing to gain."
    )
    advice = (
        "Record the step as a CUDA graph and replay it with one launch: tailwave.graph, "
        "torch.cuda.make_graphed_callables, or cudaStreamBeginCapture in C++."
    )
    answers = ("cuda-graph",)
    action = CudaGraph

    def why_not(self, _: str, setting: Setting, /) -> str:
        """Not where the GPU hardly idles."""
        busy = busy_share(setting.diagnosis)
        if busy is not None and busy > _BUSY:
            return (
                f"The GPU is busy for {percent(busy)} of the step: there are no gaps for it to "
                "fill."
            )
        return super().why_not(_, setting)

    def judged(self, _: str, report: ActionReport) -> Mechanism:
        """Count the replays."""
        replays, graphs = report.total("replays"), report.total("graphs")
        if not replays:
            return report.missing("no graph was replayed")
        many = "graph was" if graphs == 1 else "graphs were"
        return Mechanism(works=True, sentence=f"{graphs} CUDA {many} replayed {replays:,} times.")

    def lines(self, _: str, /) -> tuple[str, ...]:
        """The library's own."""
        return ("import tailwave", "step = tailwave.graph(step, *example_args)")
