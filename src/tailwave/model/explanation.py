"""What can be said of a word: its meanings, each with a claim, sections, and commands to run."""

from __future__ import annotations

import enum

import msgspec

from tailwave.model.printable import Printable


class MeaningKind(enum.StrEnum):
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
    """A piece of a meaning.

    Attributes:
        heading: "" for what follows the claim directly.
        text: Paragraphs, items of a list ("- ...") or lines of code.
        code: The text is lines to copy.
    """

    heading: str
    text: tuple[str, ...]
    code: bool = False


class Meaning(msgspec.Struct, frozen=True):
    """A word as one kind of thing.

    Attributes:
        kind: What it is.
        name: What it is called by itself.
        claim: The answer in a sentence or two.
        chinese: Its heading in the article, "" where that is none.
        aliases: Other words for it.
        sections: What else is said.
        commands: What to run; capitals stand for the user's own.
        see: Names of related meanings.
        source: The address that it rests on, "" where that is tailwave's own figures.
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


class Explanation(Printable, frozen=True):
    """All that a word means; of no word, everything that can be explained.

    Attributes:
        word: As it was asked for.
        meanings: One for each kind of thing that has this name.
        note: Tells where the word was not found as it is written, and what was taken for it.
    """

    word: str
    meanings: tuple[Meaning, ...]
    note: str = ""
