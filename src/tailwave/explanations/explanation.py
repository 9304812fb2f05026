"""The answer to a word: all that it means, as a text or as a document."""

from __future__ import annotations

import io
import shutil

import msgspec
from rich.console import Console

from tailwave.errors import UsageError
from tailwave.explanations.entry import Entry
from tailwave.explanations.glossary import XID_CATALOGUE
from tailwave.explanations.lookup import entries, find, nearest, suggest, xid_number
from tailwave.explanations.rendering import render

SCHEMA = 2
_SHOWN = 60  # characters of a word that nobody knows


class Explanation(msgspec.Struct, frozen=True):
    """All that a word means; of no word, everything that can be explained.

    ``note`` tells where the word was not found as it is written.
    """

    word: str
    entries: tuple[Entry, ...]
    note: str = ""

    def __str__(self) -> str:
        """Return the text that ``tailwave explain`` prints, as wide as the terminal."""
        text = io.StringIO()
        render(self, Console(file=text, width=shutil.get_terminal_size().columns))
        return text.getvalue().rstrip("\n")

    def to_dict(self) -> dict[str, object]:
        """Return the document of ``tailwave explain --json`` (schema 2)."""
        builtins: dict[str, object] = msgspec.to_builtins(self)
        return {"schema": SCHEMA, **builtins}


def explain(word: str = "") -> Explanation:
    """Explain a finding, cure, link, probe, figure, counter, variable, XID or other word.

    Without one, everything that can be explained is returned. Raises UsageError, with near names,
    for a word that means nothing here.
    """
    if not word.strip():
        return Explanation("", entries())
    if found := find(word):
        return Explanation(word, found)
    if found := nearest(word):
        note = f"Nothing is called {_quoted(word)} here; the nearest is {found[0].name}."
        return Explanation(word, found, note)
    raise UsageError(f"{_unknown(word)} `tailwave explain` lists all that can be asked.")


def _unknown(word: str) -> str:
    if (number := xid_number(word)) is not None:
        return (
            f"XID {number} is unknown here; NVIDIA's catalogue has all of them ({XID_CATALOGUE})."
        )
    near = suggest(word)
    likely = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"nothing is called {_quoted(word)} here.{likely}"


def _quoted(word: str) -> str:
    return repr(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}...")
