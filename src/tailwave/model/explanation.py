"""What can be said of a word: its meanings, each with a claim, sections, and commands to run."""

from __future__ import annotations

import enum
from typing import Final

import msgspec

EXPLANATION_SCHEMA: Final = 2


class MeaningKind(enum.Enum):
    """What a word can be, in the order in which kinds are listed."""

    FINDING = "finding"
    CURE = "cure"
    LINK = "link"
    PROBE = "probe"
    FIGURE = "figure"
    COUNTER = "counter"
    VARIABLE = "variable"
    XID = "XID"
    WORD = "word"


class Section(msgspec.Struct, frozen=True):
    """A piece of a meaning; ``heading`` is "" for what follows the claim directly.

    ``text`` holds paragraphs, items of a list ("- ...") or, where ``code`` says so, lines to copy.
    """

    heading: str
    text: tuple[str, ...]
    code: bool = False


class Meaning(msgspec.Struct, frozen=True):
    """A word as one kind of thing.

    ``aliases`` are other words for it, ``chinese`` its heading in the article, ``commands`` what
    to run (capitals stand for the user's own), ``see`` the names of related meanings, ``source``
    the address that it rests on.
    """

    kind: MeaningKind
    name: str
    claim: str
    chinese: str = ""
    aliases: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    commands: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    source: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """All that a word means; of no word, everything that can be explained.

    ``note`` tells where the word was not found as it is written.
    """

    word: str
    meanings: tuple[Meaning, ...]
    note: str = ""

    def __str__(self) -> str:
        """Return the text that ``tailwave explain`` prints, as wide as the terminal."""
        from tailwave.reports.explanation_terminal import explanation_text  # noqa: PLC0415 - a report stands above the nouns

        return explanation_text(self)

    def to_dict(self) -> dict[str, object]:
        """Return the document of ``tailwave explain --json`` (schema 2)."""
        builtins: dict[str, object] = msgspec.to_builtins(self)
        return {"schema": EXPLANATION_SCHEMA, **builtins}
