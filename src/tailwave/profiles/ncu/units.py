"""Units as ncu writes them, of any version and scale, and the base units that they come to."""

from __future__ import annotations

import re
from functools import lru_cache

# ncu counts in thousands, for bytes too.
_SCALES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_TIMES = {"n": 1, "u": 10**3, "m": 10**6, "": 10**9}  # in ns
_NS_IN_A_SECOND = 10**9
_TIME = re.compile(r"([num]?)(?:second|sec|s)s?")
_SCALED = re.compile(
    r"([KMGTP])(byte|hz|cycle|inst|sector|request|warp|thread|block|register|branch|op)(e?s)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def base_unit(unit: str) -> tuple[str, int]:
    """Return a unit's base unit, and how many of it make one: ("ns", 1000) for ``usecond``.

    What is not known stays as it is, with 1.
    """
    top, slash, bottom = unit.strip().partition("/")
    name, factor = _numerator(top)
    if not slash:
        return name, factor
    time = _TIME.fullmatch(bottom)
    if time is None:
        return f"{name}/{bottom}", factor
    per_second = factor * (_NS_IN_A_SECOND // _TIMES[time[1]])
    return ("hz" if name == "cycle" else f"{name}/s"), per_second


def _numerator(text: str) -> tuple[str, int]:
    if time := _TIME.fullmatch(text):
        return "ns", _TIMES[time[1]]
    if text.lower() == "hz":
        return "hz", 1
    if scaled := _SCALED.fullmatch(text):
        name = scaled[2].lower() + (scaled[3] or "")
        return name, _SCALES[scaled[1].upper()]
    return text, 1
