"""Collects what the processes of a recorded program left: one Timeline each."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tailwave.cures.recorder.decode import decode
from tailwave.cures.recorder.raw import Told, read_told
from tailwave.errors import UnavailableError
from tailwave.model import Timeline

_NOTHING = (
    "nothing was recorded: no Python process of the program turned to a GPU. A program that is not "
    "Python takes a compiled library (CUDA_INJECTION64_PATH), which tailwave does not have: record "
    "it with `nsys profile`, export that to SQLite, and give it to `tailwave diagnose`."
)


def collect(folder: Path, exit_code: int = 0) -> list[Timeline]:
    """Make the timelines of the processes that used a GPU, by rank.

    Raises UnavailableError where there is none, with the reason that a process gave if any did;
    else that the program failed, if its exit code says so.
    """
    told = [read_told(path) for path in sorted(folder.glob("process-*.json"))]
    timelines = [decode(one) for one in told if one.blocks]
    if not timelines:
        raise UnavailableError(_why_nothing(told, exit_code))
    return _ranked(timelines)


def _why_nothing(told: list[Told], exit_code: int) -> str:
    why = next((one.error for one in told if one.error), "")
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
