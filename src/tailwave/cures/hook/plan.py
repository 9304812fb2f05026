"""The plan of a trial's run: where to report, which actions to take, what to profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Action:
    """One action asked for, with its parameters."""

    name: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class Profile:
    """When to record with torch's profiler, and for how long."""

    trace: Path
    after_steps: int
    steps: int
    after_seconds: float
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a process under trial is to do; ``report`` is the beginning of its report's path."""

    report: str
    actions: tuple[Action, ...] = ()
    profile: Profile | None = None


def read(path: Path) -> Plan:
    """Read a plan; raises OSError or ValueError, which say what is wrong with it."""
    raw = json.loads(path.read_text("utf-8"))
    try:
        actions = tuple(Action(a["name"], a.get("parameters") or {}) for a in raw["actions"])
        return Plan(_absolute(raw["report"]), actions, _profile(raw.get("profile")))
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
