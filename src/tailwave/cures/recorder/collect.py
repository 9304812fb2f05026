"""Collects what the processes of a recorded program left."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tailwave.cures.recorder.decode import decode
from tailwave.cures.recorder.raw import read_report
from tailwave.errors import UnavailableError
from tailwave.model import Timeline

_NOTHING = (
    "nothing was recorded: no Python process of the program turned to a GPU. A program that is not "
    "Python takes a compiled library (CUDA_INJECTION64_PATH), which tailwave does not have: record "
    "it with `nsys profile`, export that to SQLite, and give it to `tailwave diagnose`."
)


class Trace(msgspec.Struct, frozen=True):
    """What torch's profiler recorded of a process: the file ("" for none), its whole steps."""

    trace: str = ""
    steps: int = 0
    why_not: str = ""


class _HookReport(msgspec.Struct, frozen=True):
    """What is read here of a process's own report."""

    used_gpu: bool = False
    profile: Trace | None = None
    error: str = ""


class Recording(NamedTuple):
    """A trace for each process that torch's profiler recorded, a timeline for each by CUPTI."""

    traces: list[Trace]
    timelines: list[Timeline]


def collect(folder: Path, exit_code: int = 0) -> Recording:
    """Return the recordings of the processes that used a GPU, timelines by rank.

    Raises UnavailableError where there is none, with the reason that a process gave if any did;
    else that the program failed, if its exit code says so.
    """
    by_cupti = [read_report(path) for path in sorted(folder.glob("cupti-*.json"))]
    timelines = [decode(report) for report in by_cupti if report.blocks]
    hooks = [_read(path) for path in sorted(folder.glob("report-*.json"))]
    by_torch = [hook.profile for hook in hooks if hook.used_gpu and hook.profile is not None]
    traces = [trace for trace in by_torch if trace.trace]
    if not timelines and not traces:
        words = [report.error for report in by_cupti] + [trace.why_not for trace in by_torch]
        words += [hook.error for hook in hooks]
        raise UnavailableError(_why_nothing(words, exit_code))
    return Recording(traces, _ranked(timelines))


def _read(path: Path) -> _HookReport:
    return msgspec.json.decode(path.read_bytes(), type=_HookReport)


def _why_nothing(words: list[str], exit_code: int) -> str:
    why = next(filter(None, words), "")
    if not why and exit_code != 0:
        why = f"the program ended with exit code {exit_code} before it turned to a GPU"
    return f"nothing was recorded: {why}." if why else _NOTHING


def _ranked(timelines: list[Timeline]) -> list[Timeline]:
    """Sort by rank; where the launcher gave the processes none, number them by their first work."""
    ranks = {timeline.rank for timeline in timelines}
    if len(ranks) == len(timelines):
        return sorted(timelines, key=lambda timeline: timeline.rank)
    ordered = sorted(timelines, key=lambda timeline: timeline.recorded_from)
    return [replace(timeline, rank=rank) for rank, timeline in enumerate(ordered)]
