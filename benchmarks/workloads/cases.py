"""The nouns of a recording session: workloads, cases and groups.

A *case* is one workload with one planted cause; a *group* is a case with its cured twins. The
cases of a group share a process: all of them are timed before the first is profiled, so
that no time that is called un-profiled is taken after a profiler was attached to the process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Callable

import torch

DEVICE = torch.device("cuda")

Step = Callable[[], object]
Surroundings = Callable[[], contextlib.AbstractContextManager[object]]

# What a step that keeps its GPU busy must not be accused of.
HOST_CAUSES = ("launch-bound", "host-sync", "host-starved", "blocking-copy", "host-contention")


@dataclasses.dataclass(frozen=True)
class Workload:
    """A step ready to run, and what must surround it while it is timed or profiled."""

    step: Step
    around: Surroundings = contextlib.nullcontext


class Graph(enum.Enum):
    """What to do with the step captured as one CUDA graph."""

    NO = "no"
    TIMED = "timed"  # time it, for ``graphed_ms_per_step``
    RECORDED = "recorded"  # time it, and record it as the twin ``NAME.graph``


@dataclasses.dataclass(frozen=True)
class Recording:
    """How the profiler is used; the default is the schedule that most scripts copy."""

    schedule: bool = True
    annotation: str = ""  # a record_function around each step, where there is no schedule
    stack: bool = False
    shapes: bool = False
    modules: bool = False
    steps: int = 3


@dataclasses.dataclass(frozen=True)
class Case:
    """One workload and the cause planted in it.

    ``top`` and ``not_top`` are what the comparison with the twins and the graph confirmed on an
    H200; ``remark`` says where the measurement and the plan differ.
    """

    name: str
    build: Callable[[], Workload]
    top: str | None = None
    not_top: tuple[str, ...] = ()
    twin: str = ""  # the case that is this one cured
    graph: Graph = Graph.NO
    recording: Recording = Recording()
    sm_count: int = 0  # SMs of the partition that the case runs on; 0 for the whole GPU
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases that are compared with each other, in one process."""

    name: str
    cases: tuple[Case, ...]
    limit_s: float = 60.0
