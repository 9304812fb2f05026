"""What a DataLoader is made of, and whether its work may be done elsewhere than it is."""

from __future__ import annotations

import inspect
import io
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from types import CodeType, ModuleType
from typing import Any

# The search through a dataset's attributes ends here: deep or large data is data, not machinery.
_DEEPEST = 4
_MOST_OF_A_LIST = 32
_MOST = 5_000
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition)
_HANDLES = (io.IOBase, threading.Thread, *_LOCKS)
# Where the program has imported their modules: only then can it hold one.
_IMPORTED_HANDLES = (("socket", "socket"), ("sqlite3", "Connection"))
# Packages whose objects hold an open file or a connection, and say so by no common class.
_HANDLE_PACKAGES = ("h5py", "lmdb", "netCDF4", "tables", "psycopg2", "pymongo", "redis")
Arguments = dict[str, Any]


def change(torch: ModuleType, choose: Callable[[Arguments], Arguments]) -> None:
    """Have ``choose`` add keywords to each DataLoader made; it sees all the arguments given.

    ``choose`` must not raise. Subclasses stay: what they rely on is not known.
    """
    kind = torch.utils.data.DataLoader
    plain = kind.__init__
    signature = inspect.signature(plain)

    @wraps(plain)
    def init(loader: object, *args: object, **kwargs: object) -> None:
        added: Arguments = {}
        if type(loader) is kind:
            try:
                given = signature.bind(loader, *args, **kwargs).arguments
            except TypeError:  # the program's mistake, which the constructor itself will tell
                given = {}
            added = choose(given) if given else {}
        plain(loader, *args, **{**kwargs, **added})

    kind.__init__ = init


def gpu_use(torch: ModuleType, given: Arguments) -> str:
    """Say how a loader's data is bound to a GPU; "" where nothing shows that it is."""
    for item in _parts(given["dataset"]):
        if isinstance(item, torch.Tensor) and item.device.type != "cpu":
            return "its dataset holds a tensor on the GPU"
        if isinstance(item, torch.device) and item.type != "cpu":
            return "its dataset holds a GPU device"
    for function in _functions(given):
        if any("cuda" in word for word in _words(function)):
            return f"its {function.co_name} speaks of CUDA"
    return ""


def handles(given: Arguments) -> str:
    """Say which handle, that two processes must not share, a dataset holds; "" for none."""
    kinds = (*_HANDLES, *_imported_handles())
    for item in _parts(given["dataset"]):
        package = type(item).__module__.partition(".")[0]
        if isinstance(item, kinds) or package in _HANDLE_PACKAGES:
            return f"its dataset holds a {type(item).__name__}"
    return ""


def _imported_handles() -> Iterator[type]:
    for module, name in _IMPORTED_HANDLES:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type):
            yield kind


def _parts(root: object) -> Iterator[object]:
    """Give an object, and what its attributes and containers hold, some levels down."""
    seen: set[int] = set()
    level = [root]
    for _ in range(_DEEPEST):
        deeper: list[object] = []
        for item in level:
            if id(item) in seen or isinstance(item, type | ModuleType):
                continue
            if len(seen) >= _MOST:
                return
            seen.add(id(item))
            yield item
            deeper.extend(_inside(item))
        level = deeper


def _inside(item: object) -> list[object]:
    if isinstance(item, partial):
        return [item.func, *item.args, *item.keywords.values()]
    if isinstance(item, Mapping):
        return list(item.values())[:_MOST_OF_A_LIST]
    if isinstance(item, list | tuple | set | frozenset):
        return list(item)[:_MOST_OF_A_LIST]
    if inspect.ismethod(item):
        return [item.__self__]
    if inspect.isfunction(item):
        return [cell.cell_contents for cell in item.__closure__ or () if _is_filled(cell)]
    return list(getattr(item, "__dict__", {}).values())


def _is_filled(cell: object) -> bool:
    try:
        cell.cell_contents  # type: ignore[attr-defined]  # noqa: B018  asking is what raises
    except ValueError:
        return False
    return True


def _functions(given: Arguments) -> Iterator[CodeType]:
    """Give the code that makes a batch: the dataset's, what it calls, and the collation."""
    kind = type(given["dataset"])
    methods = [getattr(kind, name, None) for name in ("__getitem__", "__getitems__", "__iter__")]
    held = [item for item in _parts(given["dataset"]) if callable(item)]
    calls = [getattr(type(item), "__call__", None) for item in held]  # noqa: B004  its code
    for function in (*methods, *held, *calls, given.get("collate_fn")):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _words(code: CodeType) -> Iterator[str]:
    """Give the names and texts in a piece of code, and in those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _words(constant)
        elif isinstance(constant, str) and constant != (code.co_consts or (None,))[0]:
            yield constant
