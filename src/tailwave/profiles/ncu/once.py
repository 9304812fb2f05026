"""Tells launches that stand in several tables or files, so that each counts once.

A report and a page of it, or two pages of one report, hold the same launches. The table that knows
more of them is taken, with the rules of the other where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tailwave.model import KernelProfile, KernelProfiles

# Not measured: they are the same in all launches of a kernel.
_CONSTANT = ("launch__", "device__", "profiler__")
_TIME = "gpu__time_duration.sum"
# What a page rounds away: it has two decimals of a value that ncu scales to at least 1, or a ratio.
_ROUNDED = 0.0051
# Of the counters of one launch, all but a few agree between a report and its pages: rates that a
# page rounds in a far greater unit. Of two launches of one kernel a fifth or more do not.
_AGREE = 0.9

Key = tuple[str, int]


class Remainder(msgspec.Struct, frozen=True):
    """What is left of a table, and the places of the tables that hold its other launches.

    ``holders`` has one place for each launch that was left out.
    """

    profiles: tuple[KernelProfile, ...]
    holders: tuple[int, ...]


def distinct(tables: Sequence[Sequence[KernelProfile]]) -> list[Remainder]:
    """Leave each launch in the one table that knows most; within a table all are launches."""
    kept: dict[int, list[KernelProfile]] = {}
    holders: dict[int, list[int]] = {}
    for place in sorted(range(len(tables)), key=lambda place: -_knowledge(tables[place])):
        earlier = {other: _Unmatched(profiles) for other, profiles in kept.items()}
        kept[place], holders[place] = [], []
        for profile in tables[place]:
            other = next((o for o, table in earlier.items() if table.take(profile)), None)
            if other is None:
                kept[place].append(profile)
            else:
                holders[place].append(other)
    return [Remainder(tuple(kept[place]), tuple(holders[place])) for place in range(len(tables))]


def once(files: Sequence[KernelProfiles]) -> list[KernelProfiles]:
    """Leave each launch in the one file that knows most of it; a note says what was left out."""
    left = []
    for file, rest in zip(files, distinct([file.profiles for file in files]), strict=True):
        notes = file.notes
        if count := len(rest.holders):
            others = " and ".join(files[place].path for place in dict.fromkeys(rest.holders))
            launches = "1 launch" if count == 1 else f"{count} launches"
            times = "counts" if count == 1 else "count"
            note = f"{launches} of {file.path} {times} once, with the counters of {others}."
            notes = (*notes, note)
        left.append(replace(file, profiles=rest.profiles, notes=notes))
    return left


def _knowledge(table: Sequence[KernelProfile]) -> float:
    """Return how many counters a table has of a launch, on average."""
    return sum(len(one.counters) for one in table) / max(len(table), 1)


class _Unmatched:
    """The launches of a table that another table was not found to hold yet."""

    def __init__(self, profiles: list[KernelProfile]) -> None:
        self._profiles = profiles
        self._places: dict[Key, list[int]] = {}
        for place, profile in enumerate(profiles):
            for key in _keys(profile):
                self._places.setdefault(key, []).append(place)

    def take(self, profile: KernelProfile) -> bool:
        """Tell whether this launch is one of them; it is matched then, and lends its rules."""
        near = [(name, step + more) for name, step in _keys(profile) for more in (0, -1, 1)]
        for place in (place for key in near for place in self._places.get(key, ())):
            match = self._profiles[place]
            if _same(match, profile):
                for key in _keys(match):
                    self._places[key].remove(place)
                self._profiles[place] = replace(match, rules=match.rules or profile.rules)
                return True
        return False


def _keys(profile: KernelProfile) -> set[Key]:
    """Return what a launch is looked up by: any of its names, with its time in steps of rounding.

    A launch without a time is not told from others.
    """
    time = profile.value(_TIME)
    if time is None or time <= 0:
        return set()
    step = math.floor(math.log(time) / (2 * _ROUNDED))
    return {(name, step) for name in (profile.name, *profile.names)}


def _same(one: KernelProfile, other: KernelProfile) -> bool:
    """Tell whether two profiles are of one launch: all that both know of it is the same."""
    for field in ("grid", "block", "process_id", "context", "stream", "number"):
        first, second = getattr(one, field), getattr(other, field)
        if first is not None and second is not None and first != second:
            return False
    near = {
        name: abs(first - second) <= _ROUNDED * max(abs(first), abs(second), 1.0)
        for name in one.counters.keys() & other.counters.keys()
        if not name.startswith(_CONSTANT)
        if (first := one.value(name)) is not None and (second := other.value(name)) is not None
    }
    return near[_TIME] and sum(near.values()) >= _AGREE * len(near)
