"""Finds what a word means: as it is written, inside a longer question, or nearly.

Case, spaces, hyphens, underscores and dots make no difference, nor does the value of a setting
(``CUDA_LAUNCH_BLOCKING=1``, ``partition:decoder=32``). Where a name has several kinds, the kind can
be given with it ("probe launch").
"""

from __future__ import annotations

import difflib
import functools
import re
import unicodedata
from collections.abc import Collection

from tailwave.explanations.cures import cures
from tailwave.explanations.glossary import glossary
from tailwave.explanations.members import counters, figures, findings, links, probes
from tailwave.model import Meaning, MeaningKind

# A driver's log has "NVRM: Xid (PCI:0000:10:1c): 79, ..."; people write "XID 79", "xid-79", "79".
_XID = re.compile(r"\bxid\W*(?:\([^)]*\))?\W*(\d{1,4})\b|^\W*(\d{1,4})\W*$")
_VALUE = re.compile(r"[=:].*", re.DOTALL)
_ALIKE = 0.82  # of difflib's ratio: two letters too many or wrong in eleven
_LONGEST = 200  # characters that are looked at
_MOST = 5


@functools.cache
def meanings() -> tuple[Meaning, ...]:
    """Return all that can be explained, kind by kind."""
    sources = (findings, cures, links, probes, figures, counters, glossary)
    return tuple(meaning for source in sources for meaning in source())


def find(word: str) -> tuple[Meaning, ...]:
    """Return what a word names, once for each kind that it is; () where nothing is called so."""
    return _index().get("".join(_parts(word)), ())


def nearest(word: str) -> tuple[Meaning, ...]:
    """Return what a word comes closest to; () where nothing does, or several things as close.

    That is the longest name that stands in it, else what is spelled most like it, else the only
    thing that has all of its parts in its name.
    """
    if contained := _contained(word):
        return find(max(contained, key=len))
    if alike := _alike(word):
        return find(alike[0])
    containing = _containing(word)
    return containing if len(containing) == 1 else ()


def suggest(word: str, among: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the names that a word may stand for, best first, five at most.

    What it names comes first, then what that is related to, then what is written like it. With
    ``among`` only these names are returned.
    """
    meant = find(word) or nearest(word)
    related = [name for meaning in meant for name in meaning.see]
    alike = [meaning for name in _alike(word) for meaning in find(name)]
    others = [meaning.name for meaning in (*alike, *_containing(word))]
    names = dict.fromkeys((*(meaning.name for meaning in meant), *related, *others))
    return tuple(name for name in names if among is None or name in among)[:_MOST]


def _contained(word: str) -> list[str]:
    """Return the names that stand in a longer text; Chinese ones need no space around them."""
    parts = _parts(word)
    text, joined = f" {' '.join(parts)} ", "".join(parts)
    return [
        name
        for name in _names()
        if f" {name} " in text or (not name.isascii() and name.replace(" ", "") in joined)
    ]


def _alike(word: str) -> list[str]:
    """Return the names of as many parts, in the same script, that are spelled most like a word."""
    text = " ".join(_parts(word))
    like = (len(text.split()), text.isascii())
    names = [name for name in _names() if (len(name.split()), name.isascii()) == like]
    return difflib.get_close_matches(text, names, n=_MOST, cutoff=_ALIKE)


def _containing(word: str) -> tuple[Meaning, ...]:
    """Return what has all parts of a word in its name, shortest name first.

    A part is a word between spaces, in Chinese any piece.
    """
    parts = _parts(word)
    holding = (
        name
        for name in _names()
        if parts and all(part in (name.split() if part.isascii() else name) for part in parts)
    )
    names = sorted(holding, key=len)
    return tuple(dict.fromkeys(meaning for name in names for meaning in find(name)))


@functools.cache
def _index() -> dict[str, tuple[Meaning, ...]]:
    """Return what each name stands for, spaces left out: alone, and with its kind on either side.

    What is called so by itself comes before what has it as another name.
    """
    index: dict[str, dict[Meaning, None]] = {}
    for meaning in meanings():
        kind, name = meaning.kind.value, meaning.name
        for text in (name, f"{kind} {name}", f"{name} {kind}"):
            index.setdefault("".join(_parts(text)), {})[meaning] = None
    for meaning in meanings():
        for text in _other_names(meaning):
            index.setdefault("".join(_parts(text)), {})[meaning] = None
    return {key: tuple(found) for key, found in index.items()}


@functools.cache
def _names() -> tuple[str, ...]:
    """Return all names in parts; XIDs are left out, since the next number is another fault."""
    named = [meaning for meaning in meanings() if meaning.kind is not MeaningKind.XID]
    texts = [text for meaning in named for text in (meaning.name, *_other_names(meaning))]
    return tuple(dict.fromkeys(" ".join(_parts(text)) for text in texts))


def _other_names(meaning: Meaning) -> tuple[str, ...]:
    return (*meaning.aliases, meaning.chinese) if meaning.chinese else meaning.aliases


def _parts(text: str) -> list[str]:
    """Cut a text into its words and numbers, in lower case."""
    if (number := xid_number(text)) is not None:
        return ["xid", str(number)]
    plain = _plain(text)
    return re.findall(r"[^\W_]+", _VALUE.sub("", plain) or plain)


def xid_number(text: str) -> int | None:
    """Return the number of the XID that a text speaks of, or is; None where it speaks of none."""
    number = _XID.search(_plain(text))
    return int(number[1] or number[2]) if number else None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
