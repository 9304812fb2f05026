"""Let the optimizer update all parameters with a few kernels."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from types import ModuleType
from typing import Any

from tailwave.cures.catalogue.base import ActionReport, CureInProgram, Mechanism
from tailwave.cures.hook.action import Action

_CLASSES = ("Adam", "AdamW", "SGD")
# What a program sets when it has chosen an implementation itself, and what rules the fused one out.
_CHOICES = ("foreach", "fused")
_NEEDS = ("capturable", "differentiable")


class FusedOptimizer(Action):
    """``fused=True`` for Adam, AdamW and SGD on a GPU, where the program has chosen nothing itself.

    Subclasses stay: their ``step`` may be their own. A checkpoint that is loaded brings its own
    choice back, so the evidence is read from the groups at the end.
    """

    IDLE = "the program made no Adam, AdamW or SGD"

    _changed: weakref.WeakSet[Any]

    def on_torch(self, torch: ModuleType) -> None:
        """Change the constructors."""
        self._torch = torch
        self._changed = weakref.WeakSet()
        for name in _CLASSES:
            kind = getattr(torch.optim, name)
            if "fused" in inspect.signature(kind.__init__).parameters:
                kind.__init__ = self._fusing(kind, kind.__init__)

    def forget(self) -> None:
        """Leave the parent's optimizers to it."""
        super().forget()
        self._changed = weakref.WeakSet()

    def seen(self) -> dict[str, object]:
        """Return how many were changed, and how many of those that live are fused still."""
        fused = sum(all(group.get("fused") for group in o.param_groups) for o in self._changed)
        return {**self.counts, "fused": fused, "alive": len(self._changed)}

    def _fusing(self, kind: type, plain: Callable[..., None]) -> Callable[..., None]:
        @wraps(plain)
        def init(optimizer: object, params: object, *args: object, **kwargs: object) -> None:
            if type(optimizer) is not kind:
                plain(optimizer, params, *args, **kwargs)
                return
            if isinstance(params, Iterator):  # looking at it must not use it up
                params = list(params)
            given = dict(kwargs)
            self.attempt(partial(self._choose, plain, (params, *args), kwargs))
            plain(optimizer, params, *args, **kwargs)
            if kwargs != given:
                self._changed.add(optimizer)
                self.counts["optimizers"] += 1
                self.applied = True

        return init

    def _choose(
        self, plain: Callable[..., None], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        """Ask for the fused kernel where it can be had."""
        given = inspect.signature(plain).bind(None, *args, **kwargs).arguments
        groups = list(_groups(args[0]))
        why_not = _chosen([given, *groups]) or self._unfit(groups)
        if why_not:
            self.refuse(why_not)
        else:
            kwargs["fused"] = True

    def _unfit(self, groups: Iterable[Mapping[str, Any]]) -> str:
        """Say why parameters cannot be updated by the fused kernel; "" where they can."""
        torch = self._torch
        for group in groups:
            for parameter in group["params"]:
                if type(parameter) not in {torch.Tensor, torch.nn.Parameter}:
                    return f"a parameter is a {type(parameter).__name__}"
                if parameter.device.type != "cuda":
                    return "the parameters were not on a GPU when the optimizer was made"
                if not parameter.is_floating_point() or parameter.layout is not torch.strided:
                    return "a parameter is not of dense floating-point numbers"
        return ""


def _groups(params: object) -> Iterator[dict[str, Any]]:
    """Give the groups of what an optimizer takes: tensors, pairs of name and tensor, or groups."""
    for item in params if isinstance(params, Iterable) else ():
        if isinstance(item, dict):
            inner = item["params"]
            if isinstance(inner, Iterator):
                inner = item["params"] = list(inner)
            yield {**item, "params": [inner] if hasattr(inner, "device") else _tensors(inner)}
        else:
            yield {"params": _tensors([item])}


def _tensors(items: Iterable[Any]) -> list[Any]:
    return [item[1] if isinstance(item, tuple) else item for item in items]


def _chosen(settings: Sequence[Mapping[str, object]]) -> str:
    """Say which choice the program has made itself; "" for none."""
    named = [
        *(c for s in settings for c in _CHOICES if s.get(c) is not None),
        *(c for s in settings for c in _NEEDS if s.get(c)),
    ]
    return f"the program sets {named[0]} itself" if named else ""


class FusedOptimizerCure(CureInProgram):
    """Works where optimizers were made with fused=True, and those that still live are fused."""

    name = "fused-optimizer"
    label = "a fused optimizer"
    does = (
        "A PyTorch optimizer launches several kernels for each parameter, or for each group of "
        "them; with fused=True one kernel does many parameters' whole update."
    )
    needs = (
        "A PyTorch program with an optimizer that can (Adam, AdamW, SGD, Adagrad) and parameters "
        "of floating point on the GPU. The results may differ in the last digits."
    )
    advice = "Make the optimizer with fused=True."
    answers = ("fused-optimizer",)
    action = FusedOptimizer

    def judged(self, _: str, report: ActionReport) -> Mechanism:
        """Count the optimizers."""
        made = report.total("optimizers")
        if report.total("alive") > 0 and report.total("fused") == 0:
            return Mechanism(
                works=False, sentence="The program unset fused again, as a checkpoint does."
            )
        if not made:
            return report.missing("no optimizer was fused")
        many = "optimizer was" if made == 1 else "optimizers were"
        return Mechanism(works=True, sentence=f"{made} {many} made with fused=True.")

    def lines(self, _: str, /) -> tuple[str, ...]:
        """PyTorch's own; the optimizer is the program's."""
        return (
            "optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # or the one you use",
        )
