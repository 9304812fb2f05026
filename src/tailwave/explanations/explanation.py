"""Answers a word with all that it means."""

from __future__ import annotations

from tailwave.errors import UsageError
from tailwave.explanations.glossary import XID_CATALOGUE
from tailwave.explanations.lookup import find, meanings, nearest, suggest, xid_number
from tailwave.model import Explanation

_SHOWN = 60  # characters of a word that nobody knows


def explain(word: str = "") -> Explanation:
    """Explain a finding, cure, link, probe, figure, counter, variable, XID or other word.

    Without one, everything that can be explained is returned. Raises UsageError, with near names,
    for a word that means nothing here.
    """
    if not word.strip():
        return Explanation("", meanings())
    if found := find(word):
        return Explanation(word, found)
    if (number := xid_number(word)) is not None:
        raise UsageError(
            f"XID {number} is unknown here; NVIDIA's catalogue has all of them ({XID_CATALOGUE})."
        )
    if found := nearest(word):
        note = f"Nothing is called {_quoted(word)} here; the nearest is {found[0].name}."
        return Explanation(word, found, note)
    *others, last = suggest(word) or ("",)
    near = f"{', '.join(others)} or {last}" if others else last
    likely = f" Did you mean {near}?" if near else ""
    raise UsageError(
        f"nothing is called {_quoted(word)} here.{likely} `tailwave explain` lists all that can be "
        "asked."
    )


def _quoted(word: str) -> str:
    return repr(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}...")
