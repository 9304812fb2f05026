"""What a process is told and what it tells: the plan of a run, and the process's report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """An action asked for: the cure's name, the class as ``module:name``, its parameters."""

    name: str
    action: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class Profile:
    """When to record with torch's profiler, and for how long; without marks by the seconds."""

    trace: Path
    after_steps: int
    steps: int
    after_seconds: float
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a process is to do; ``report`` is the beginning of its report's path.

    ``record`` is for a recording instead of a trial: each process is recorded and not the main one
    alone, by CUPTI where it is not torch that turns to the GPU.
    """

    report: str
    tasks: tuple[Task, ...] = ()
    profile: Profile | None = None
    record: bool = False


def read(path: Path) -> Plan:
    """Read a plan; raises OSError or ValueError, which say what is wrong with it."""
    raw = json.loads(path.read_text("utf-8"))
    try:
        tasks = tuple(Task(t["name"], t["action"], t["parameters"]) for t in raw["tasks"])
        profile = _profile(raw.get("profile"))
        return Plan(_absolute(raw["report"]), tasks, profile, bool(raw.get("record")))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no plan: {type(error).__name__} {error}") from error


def _absolute(place: object) -> str:
    """Return a path to write to, which must not depend on the folder that the program works in."""
    if not isinstance(place, str) or not Path(place).is_absolute():
        raise ValueError(f"{place!r} is no absolute path")
    return place


def _profile(raw: Mapping[str, object] | None) -> Profile | None:
    if raw is None:
        return None
    return Profile(
        trace=Path(_absolute(raw["trace"])),
        after_steps=int(str(raw["after_steps"])),
        steps=int(str(raw["steps"])),
        after_seconds=float(str(raw["after_seconds"])),
        seconds=float(str(raw["seconds"])),
    )


def write_report(prefix: str, document: Mapping[str, object]) -> None:
    """Write ``<prefix>-<pid>.json`` anew; raises OSError where the folder takes no file."""
    path = Path(f"{prefix}-{os.getpid()}.json")
    # The reader takes every report-*.json, so the unfinished one is called otherwise.
    unfinished = path.with_name(f".{path.name}.part")
    # A command line's bytes may be no text (PEP 383), and JSON holds nothing else.
    text = json.dumps(document, ensure_ascii=False)
    unfinished.write_bytes(text.encode("utf-8", "replace"))
    unfinished.replace(path)
