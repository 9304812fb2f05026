"""Waits for the program to import a module, and never imports it itself."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # else it brings tempfile, random and more, before the program's own of that name
    from importlib.abc import Loader


def when_imported(name: str, call: Callable[[ModuleType], None]) -> None:
    """Call with the module, as soon as its import has succeeded; ``call`` must not raise."""
    if name in sys.modules:
        call(sys.modules[name])
    else:
        if name not in _watches:
            _watches[name] = _Watch(name)
            sys.meta_path.insert(0, _watches[name])
        _watches[name].calls.append(call)


class _Watch:
    """Finds the module as Python would without it, and has its loader tell when it has run.

    The loader stays the module's own, for programs look at it. Asking whether the module is there
    (``find_spec``) is no import; so the watch stays until one has succeeded.
    """

    def __init__(self, name: str) -> None:
        self.calls: list[Callable[[ModuleType], None]] = []
        self._name, self._searching = name, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Give the module's own spec, with its loader watched; None for any other module."""
        del path, target
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Loader) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            del loader.exec_module  # the instance's: the class's own is back
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                del _watches[self._name]
                for call in self.calls:
                    call(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]


_watches: dict[str, _Watch] = {}
