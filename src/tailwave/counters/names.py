"""Checks counters' names against a chip's list."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# What ncu knows of a launch by itself, on any chip; it is no counter of the chip's list.
_OF_THE_LAUNCH = ("launch__", "device__")
_MOST_MATCHES = 3
_LIKE_ENOUGH = 0.6


def base(name: str) -> str:
    """Return a counter's name without roll-up: "sm__cycles_active" of "sm__cycles_active.avg"."""
    return name.partition(".")[0]


def of_the_launch(name: str) -> bool:
    """Tell whether a name is a property of the launch, which needs no counter."""
    return name.startswith(_OF_THE_LAUNCH)


def unknown(names: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """Return those of the names that the chip's list does not have."""
    return tuple(name for name in names if not of_the_launch(name) and base(name) not in known)


def near(name: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the chip's names that are most like a name: the same words first, then letters."""
    wanted = base(name)
    words = set(wanted.split("_")) - {""}
    scored = sorted(known, key=lambda other: (-len(words & set(other.split("_"))), len(other)))
    candidates = scored[:200]
    close = difflib.get_close_matches(wanted, candidates, n=_MOST_MATCHES, cutoff=_LIKE_ENOUGH)
    return tuple(close)
