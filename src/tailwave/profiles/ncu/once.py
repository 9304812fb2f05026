"""Tells launches that stand in several tables or files, so that each counts once.

A report and a page of it, or two pages of one report, hold the same launches. The table that tells
more of them is taken, with the rules of the other where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

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


class Distinct(NamedTuple):
    """What is left of a table, how many launches others tell more of, and which tables those are.

    ``others`` are the places of these tables among all.
    """

    profiles: tuple[KernelProfile, ...]
    left_out: int
    others: tuple[int, ...]


def distinct(tables: Sequence[Sequence[KernelProfile]]) -> list[Distinct]:
    """Leave each launch in the one table that tells most; within a table all are launches."""
    kept: dict[int, list[KernelProfile]] = {}
    holders: dict[int, list[int]] = {}
    for place in sorted(range(len(tables)), key=lambda place: -_told(tables[place])):
        earlier = {other: _Open(profiles) for other, profiles in kept.items()}
        kept[place], holders[place] = [], []
        for profile in tables[place]:
            other = next((o for o, table in earlier.items() if table.take(profile)), None)
            if other is None:
                kept[place].append(profile)
            else:
                holders[place].append(other)
        for other, table in earlier.items():
            kept[other] = table.profiles
    return [
        Distinct(tuple(kept[place]), len(holders[place]), tuple(dict.fromkeys(holders[place])))
        for place in range(len(tables))
    ]


def once(files: Sequence[KernelProfiles]) -> list[KernelProfiles]:
    """Leave each launch in the one file that tells most of it; a note says what was left out."""
    found = distinct([file.profiles for file in files])
    return [
        replace(file, profiles=one.profiles, notes=(*file.notes, *_note(file, one, files)))
        if one.left_out
        else replace(file, profiles=one.profiles)
        for file, one in zip(files, found, strict=True)
    ]


def _note(file: KernelProfiles, one: Distinct, files: Sequence[KernelProfiles]) -> tuple[str, ...]:
    others = " and ".join(files[place].path for place in one.others)
    launches = "1 launch" if one.left_out == 1 else f"{one.left_out} launches"
    count = "counts" if one.left_out == 1 else "count"
    return (f"{launches} of {file.path} {count} once, with the counters of {others}.",)


def _told(table: Sequence[KernelProfile]) -> float:
    """Return how much a table tells of a launch, on average."""
    return sum(len(one.counters) for one in table) / max(len(table), 1)


class _Open:
    """A table's launches, and which of them no other table was found to hold as well."""

    def __init__(self, profiles: Sequence[KernelProfile]) -> None:
        self.profiles = list(profiles)
        self._open: dict[tuple[str, int], list[int]] = {}
        for place, profile in enumerate(profiles):
            for key in _keys(profile):
                self._open.setdefault(key, []).append(place)

    def take(self, profile: KernelProfile) -> bool:
        """Tell whether this launch is one of them that is still open; it is not any more then."""
        near = [(name, step + more) for name, step in _keys(profile) for more in (0, -1, 1)]
        for key in near:
            for place in self._open.get(key, ()):
                if _same(self.profiles[place], profile):
                    self._close(place, profile)
                    return True
        return False

    def _close(self, place: int, profile: KernelProfile) -> None:
        known = self.profiles[place]
        for key in _keys(known):
            self._open[key].remove(place)
        if not known.rules:
            self.profiles[place] = replace(known, rules=profile.rules)


def _keys(profile: KernelProfile) -> set[tuple[str, int]]:
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
    pairs = _pairs(one, other)
    agreed = sum(_near(*pair) for pair in pairs.values())
    return _near(*pairs[_TIME]) and agreed >= _AGREE * len(pairs)


def _pairs(one: KernelProfile, other: KernelProfile) -> dict[str, tuple[float, float]]:
    """Return the numbers that were measured in both."""
    found = {}
    for name in one.counters.keys() & other.counters.keys():
        first, second = one.value(name), other.value(name)
        if first is not None and second is not None and not name.startswith(_CONSTANT):
            found[name] = (first, second)
    return found


def _near(first: float, second: float) -> bool:
    return abs(first - second) <= _ROUNDED * max(abs(first), abs(second), 1.0)
