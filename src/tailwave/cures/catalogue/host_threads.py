"""Give the program's host threads no more cores than there are.

What it does:
    Each process of a program starts a pool of threads for its operators on the CPU, as many as
    the machine has cores, whatever a container grants. More threads than cores take the core from
    the thread that issues the GPU's work. OMP_NUM_THREADS and MKL_NUM_THREADS set their number.

What it needs:
    A program that uses OpenMP or MKL (PyTorch, NumPy), started anew.

How its mechanism is seen:
    PyTorch names the number of its threads.

How it is undone:
    A run without the variables.

Lines to keep it:
    export OMP_NUM_THREADS=4
    export MKL_NUM_THREADS=4
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
    read_back,
    whole,
)

NAME = "host-threads"
LABEL = "threads on the CPU"
ANSWERS: tuple[str, ...] = ("host-threads",)
EVIDENCE: tuple[str, ...] = ()

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_MOST = 4096


def parameters(setting: Setting) -> tuple[str, ...]:
    """Half of a GPU's share of the cores, for others need some too; then one thread."""
    half = setting.cpus // max(2 * setting.gpus, 1)
    return tuple(dict.fromkeys((str(max(half, 1)), "1")))


def change(parameter: str, _: Setting) -> Change:
    """Set both variables."""
    return Change(environment=dict(_environment(str(whole(NAME, parameter, 1, _MOST)))))


def why_not(parameter: str, setting: Setting) -> str:
    """Not where they are set so already."""
    return already(_environment(parameter), setting)


def seen(parameter: str, reports: Iterable[Report]) -> Seen:
    """Ask PyTorch for its threads."""
    return read_back("threads", int(parameter), _VARIABLES[0], reports)


def lines(parameter: str) -> tuple[str, ...]:
    """Both variables."""
    return exports(_environment(parameter))


def _environment(value: str) -> dict[str, str]:
    return dict.fromkeys(_VARIABLES, value)
