"""ComfyUI's own model compiler and CUDA graphs: whether they are on, and off for a while.

ComfyUI records a model's blocks as CUDA graphs in a stream that it makes itself, and runs them
once in that stream before (``comfy/model_prefetch.py``, ``GRAPH_CAPTURE_STREAMS``). A graph's
kernels belong to the context of the stream that they were recorded in: replayed from a
partition's stream they would run on all SMs all the same. So both are paused for each denoising
call, by the two switches that ComfyUI reads at every call (``comfy/cli_args.py``,
``--disable-comfy-compiler`` and ``--disable-cuda-graphs``); nothing here records graphs instead.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

COMPILER = "disable_comfy_compiler"
GRAPHS = "disable_cuda_graphs"


def on() -> bool:
    """Tell whether ComfyUI would compile models here, whether or not this model can be."""
    args = _arguments()
    if getattr(args, COMPILER, True):  # switched off, or a ComfyUI from before the compiler
        return False
    memory = importlib.import_module("comfy.memory_management")
    return bool(getattr(memory, "aimdo_enabled", False))


def graphing() -> bool:
    """Tell whether it would record CUDA graphs as well."""
    return on() and not getattr(_arguments(), GRAPHS, True)


@contextmanager
def paused() -> Iterator[None]:
    """Keep the compiler and its graphs off; the switches are as they were afterwards.

    They are switches of the whole process: the first to enter saves and the last to leave
    restores them, so that calls of several threads may overlap.
    """
    _switches.hold()
    try:
        yield
    finally:
        _switches.release()


class _Switches:
    """The two switches, their saved positions and how many calls hold them off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._saved: dict[str, object] = {}

    def hold(self) -> None:
        """Turn both off, if they exist here."""
        with self._lock:
            self._holders += 1
            if self._holders > 1:
                return
            args = _arguments()
            present = [name for name in (COMPILER, GRAPHS) if hasattr(args, name)]
            self._saved = {name: getattr(args, name) for name in present}
            for name in present:
                setattr(args, name, True)

    def release(self) -> None:
        """Put both back when nobody holds them any more."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                for name, value in self._saved.items():
                    setattr(_arguments(), name, value)


_switches = _Switches()


def _arguments() -> object:
    """Return ComfyUI's parsed command line."""
    return importlib.import_module("comfy.cli_args").args
