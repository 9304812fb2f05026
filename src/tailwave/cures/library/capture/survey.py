"""Finds what a callable can change: the arrays, and the Python bindings that lead to them.

Looked through are the callable itself, its ``__self__``, its closure, defaults and the globals
that its code names, and from there containers and the attributes of the program's own objects.
Objects of the standard library and of array libraries are left alone, but for torch's modules
and optimizers: another thread may be using them, and their attributes are not the program's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import NamedTuple

from tailwave.cures.library.capture.captor import Array, Foreign
from tailwave.errors import GraphRefusedError

# A survey of a model of 1,000 modules sees about 20,000 objects; past this it is lost in data.
_MOST = 500_000

_FOREIGN = frozenset(
    {*sys.stdlib_module_names, "torch", "cupy", "cupyx", "numpy", "cuda", "triton"}
)
# Where the bases of modules and optimizers are defined, and of `types.SimpleNamespace`.
_BASES = frozenset({"torch.nn.modules.module", "torch.optim.optimizer", "types"})
_FLAT = frozenset({"_parameters", "_buffers", "_modules"})


class Holder(NamedTuple):
    """A dict, a list, or a closure's cell whose bindings a call may change."""

    label: str
    container: Foreign
    names: tuple[str, ...] | None = None  # of a module's globals, those that the code names

    def read(self) -> dict[object, object]:
        """Return the bindings as they are."""
        if isinstance(self.container, CellType):
            try:
                return {"": self.container.cell_contents}
            except ValueError:  # it is not filled yet
                return {}
        if isinstance(self.container, list):
            return dict(enumerate(self.container))
        names = self.container if self.names is None else self.names
        return {name: self.container[name] for name in names if name in self.container}

    def write(self, bindings: dict[object, object]) -> None:
        """Put bindings back; touches nothing where they are the same objects still."""
        now = self.read()
        same = now.keys() == bindings.keys() and all(now[n] is bindings[n] for n in now)
        if same:
            return
        if isinstance(self.container, CellType):
            self.container.cell_contents = bindings[""]
        elif isinstance(self.container, list):
            self.container[:] = bindings.values()
        else:
            for name in now.keys() - bindings.keys():
                del self.container[name]
            self.container.update(bindings)


@dataclass
class Survey:
    """What was found: arrays by label, the holders on the way to them, and objects seen."""

    arrays: dict[str, Array] = field(default_factory=dict)
    holders: list[Holder] = field(default_factory=list)
    objects: dict[str, Foreign] = field(default_factory=dict)

    def of(self, kind: type) -> list[Foreign]:
        """Return the objects of one type."""
        return [item for item in self.objects.values() if isinstance(item, kind)]


class _Visit(NamedTuple):
    """Something to look at."""

    item: object
    label: str


def roots_of(function: Callable[..., object], state: tuple[object, ...]) -> dict[str, object]:
    """Return what to look through for a function and the state that its user names, by label."""
    name = getattr(function, "__name__", type(function).__name__)
    return {name: function, **{f"state[{index}]": item for index, item in enumerate(state)}}


def survey(roots: dict[str, object], is_array: Callable[[object], bool]) -> Survey:
    """Look through the roots, named by their labels; raises GraphRefusedError when lost."""
    found = Survey()
    seen: dict[int, object] = {}
    waiting = [_Visit(item, label) for label, item in reversed(roots.items())]
    while waiting:
        item, label = waiting.pop()
        if id(item) in seen or isinstance(item, str | bytes | int | float | complex | None):
            continue
        seen[id(item)] = item
        if len(seen) > _MOST:
            raise GraphRefusedError(
                f"{label}: more than {_MOST:,} objects can be reached from the function, too many "
                "to look through for state; pass it what it works on as arguments, and name its "
                "state with state="
            )
        if is_array(item):
            found.arrays[label] = item
        else:
            waiting.extend(reversed(list(_inside(item, label, found))))
    return found


def _inside(item: object, label: str, found: Survey) -> Iterator[_Visit]:
    """Yield what an object leads to, and note it."""
    if isinstance(item, dict | list):
        holder = Holder(label, item)
        found.holders.append(holder)
        for index, (name, value) in enumerate(holder.read().items()):
            key = repr(name) if isinstance(name, str | int) else f"#{index}"
            yield _Visit(value, f"{label}[{key}]")
    elif isinstance(item, tuple | set | frozenset):
        yield from (_Visit(value, f"{label}[{index}]") for index, value in enumerate(item))
    elif isinstance(item, MethodType):
        yield _Visit(item.__self__, label.rpartition(".")[0] or label)
        yield _Visit(item.__func__, label)
    elif isinstance(item, FunctionType):
        yield from _function(item, label, found)
    elif not isinstance(item, type | ModuleType):
        yield from _object(item, label, found)


def _object(item: object, label: str, found: Survey) -> Iterator[_Visit]:
    """Yield the attributes of one of the program's objects, and its call's code."""
    found.objects[label] = item
    if isinstance(item, functools.partial):
        yield from (_Visit(part, label) for part in (item.func, item.args, item.keywords))
        return
    if not _is_theirs(item):
        return
    attributes = vars(item)
    found.holders.append(Holder(label, attributes))
    for name, value in list(attributes.items()):
        if name in _FLAT and isinstance(value, dict):
            found.holders.append(Holder(label, value))
            yield from (_Visit(inner, f"{label}.{key}") for key, inner in value.items())
        else:
            yield _Visit(value, f"{label}.{name}")
    for name in ("forward", "__call__"):
        code = getattr(type(item), name, None)
        if isinstance(code, FunctionType):
            yield _Visit(code, f"{label}.{name}")


def _is_theirs(item: object) -> bool:
    """Tell whether an object is of the program's own making, or a torch module or optimizer."""
    if not hasattr(item, "__dict__"):
        return False
    homes = [base.__module__ or "" for base in type(item).__mro__]
    return homes[0].partition(".")[0] not in _FOREIGN or not _BASES.isdisjoint(homes)


def _function(function: FunctionType, label: str, found: Survey) -> Iterator[_Visit]:
    """Yield what a function's code can reach by itself."""
    if (function.__module__ or "").partition(".")[0] in _FOREIGN:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        holder = Holder(name, cell)
        found.holders.append(holder)
        yield from (_Visit(value, name) for value in holder.read().values())
    yield _Visit(function.__defaults__, f"{label}'s default")
    yield _Visit(function.__kwdefaults__, f"{label}'s default")
    names = tuple(n for n in _names(function.__code__) if n in function.__globals__)
    found.holders.append(Holder(label, function.__globals__, names))
    yield from (_Visit(function.__globals__[name], name) for name in names)


def _names(code: CodeType) -> list[str]:
    """Return the global names in a function's code and in the functions that it defines."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.extend(_names(constant))
    return list(dict.fromkeys(names))
