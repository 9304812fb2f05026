"""Load the program's kernels when it starts, or each when it is first used.

What it does:
    CUDA loads a kernel when it is first launched (lazy, the default on Linux since CUDA 12.2),
    which takes milliseconds in the middle of a run. CUDA_MODULE_LOADING=EAGER loads all of them
    at the start.

What it needs:
    The variable is read when CUDA comes up, so the program is started anew. EAGER takes memory
    for every kernel of every library, and a longer start.

How its mechanism is seen:
    The driver itself names its mode (cuModuleGetLoadingMode).

How it is undone:
    A run without the variable.

Lines to keep it:
    export CUDA_MODULE_LOADING=EAGER
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.cures.catalogue.base import (
    Change,
    Report,
    Seen,
    Setting,
    already,
    exports,
    one_of,
    read_back,
)

NAME = "module-loading"
LABEL = "when kernels are loaded"
ANSWERS: tuple[str, ...] = ()  # a step that a profile shows has its kernels loaded
EVIDENCE: tuple[str, ...] = ()

_VARIABLE = "CUDA_MODULE_LOADING"
_MODES = ("EAGER", "LAZY")


def parameters(_: Setting) -> tuple[str, ...]:
    """Eager: lazy is what there is."""
    return ("EAGER",)


def change(parameter: str, _: Setting) -> Change:
    """Set the variable."""
    one_of(NAME, parameter, _MODES)
    return Change(environment={_VARIABLE: parameter})


def why_not(parameter: str, setting: Setting) -> str:
    """Not where it is set so already."""
    return already({_VARIABLE: parameter}, setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Ask what the driver said."""
    return read_back("module_loading", parameter, _VARIABLE, reports)


def lines(parameter: str) -> tuple[str, ...]:
    """The variable."""
    return exports({_VARIABLE: parameter})
