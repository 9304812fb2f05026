"""Figures as ncu writes them: in the language of the machine, in units of any version and scale."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

AMBIGUOUS = "the file does not show whether its marks group digits or begin decimals"

_SPACES = " '\u2019\u00a0\u202f"  # what groups digits in French, Swiss and Nordic settings
# Digits may be grouped by the mark that does not begin decimals; the inner groups may be Indian.
_NUMBER = (
    r"(?P<sign>[+-]?)"
    r"(?P<whole>[1-9][0-9]{{0,2}}(?P<group>[{group}])(?:[0-9]{{2,3}}(?P=group))*[0-9]{{3}}|[0-9]*)"
    r"(?:[{mark}](?P<decimals>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]{{1,3}})?"
)
_PATTERNS = {
    ".": re.compile(_NUMBER.format(mark=".", group=f",{_SPACES}")),
    ",": re.compile(_NUMBER.format(mark=",", group=f".{_SPACES}")),
}

# ncu counts in thousands, for bytes too.
_SCALES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_TIMES = {"n": 1, "u": 10**3, "m": 10**6, "": 10**9}  # in ns
_NS_IN_A_SECOND = 10**9
_TIME = re.compile(r"([num]?)(?:second|sec|s)s?")
_SCALED = re.compile(
    r"([KMGTP])(byte|hz|cycle|inst|sector|request|warp|thread|block|register|branch|op)(e?s)?",
    re.IGNORECASE,
)


def readings(text: str) -> dict[str, Decimal]:
    """Return what a number is by the mark that begins its decimals; nothing for what is none."""
    found = {}
    for mark, pattern in _PATTERNS.items():
        match = pattern.fullmatch(text.strip())
        if match and (match["whole"] or match["decimals"]):
            whole = re.sub(r"[^0-9]", "", match["whole"]) or "0"
            decimals = match["decimals"] or "0"
            found[mark] = Decimal(f"{match['sign']}{whole}.{decimals}{match['exponent'] or ''}")
    return found


def decimal_mark(texts: Iterable[str]) -> str:
    """Return the mark that begins decimals in a file.

    A number shows it that could not be read with the other mark. "" if none does, "?" where they
    show both.
    """
    each = [readings(text) for text in texts]
    shown = {mark for found in each if len(found) == 1 for mark in found}
    return shown.pop() if len(shown) == 1 else "?" if shown else ""


def number(found: dict[str, Decimal], decimal: str) -> Decimal | None:
    """Choose among a number's readings, in a file with this decimal mark; None if ambiguous.

    A file that shows no decimal mark at all is taken to group with commas, as ncu does in English
    and without a language; a full stop could be either there.
    """
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    has_comma = abs(found["."]) > abs(found[","])  # 1,234 and not 1.234
    return found.get(decimal or ("." if has_comma else ""))


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
