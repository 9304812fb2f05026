"""Checks counters' names against a chip's list."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# What ncu knows of a launch by itself, on any chip; it is no counter of the chip's list.
_OF_THE_LAUNCH = ("launch__", "device__")
_ENDING = re.compile(
    r"(?:sum|avg|min|max)(?:\.(?:peak_(?:burst|sustained(?:_(?:active|elapsed|frame|region))?)"
    r"(?:\.per_second)?|per_second|per_cycle_(?:active|elapsed|in_frame|in_region)"
    r"|pct_of_peak_(?:burst|sustained)_(?:active|elapsed|frame|region)))?|ratio|pct|max_rate"
)
_ENDINGS = (
    ".sum, .avg, .min or .max, alone or with .per_second or .pct_of_peak_sustained_elapsed and the "
    "like; .ratio, .pct or .max_rate of a ratio"
)
_CAPABILITY = re.compile(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?", re.IGNORECASE)
# The largest chip of each compute capability: those of one have the same counters but for a few.
_CHIPS = {
    (7, 0): "gv100",
    (7, 2): "gv11b",
    (7, 5): "tu102",
    (8, 0): "ga100",
    (8, 6): "ga102",
    (8, 7): "ga10b",
    (8, 9): "ad102",
    (9, 0): "gh100",
    (10, 0): "gb100",
    (11, 0): "gb10b",
    (12, 0): "gb202",
    (12, 1): "gb20b",
}
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


def wrong_ending(name: str) -> str:
    """Return what may stand behind a counter's name where something else does; "" if it is right.

    A name alone is right as well: ncu then records all of its roll-ups.
    """
    _, dot, ending = name.partition(".")
    return _ENDINGS if dot and not _ENDING.fullmatch(ending) else ""


def chip_of(text: str) -> str:
    """Return the chip of a compute capability ("9.0", "sm_90"); a chip's name in lower case."""
    number = _CAPABILITY.fullmatch(text)
    capability = (int(number[1]), int(number[2])) if number else None
    return _CHIPS.get(capability, text.lower()) if capability else text.lower()


def near(name: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the chip's names that are most like a name: the same words first, then letters."""
    wanted = base(name)
    words = set(wanted.split("_")) - {""}
    scored = sorted(known, key=lambda other: (-len(words & set(other.split("_"))), len(other)))
    candidates = scored[:200]
    close = difflib.get_close_matches(wanted, candidates, n=_MOST_MATCHES, cutoff=_LIKE_ENOUGH)
    return tuple(close)
