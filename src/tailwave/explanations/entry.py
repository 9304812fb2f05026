"""What is said of one word: its claim, its sections, and the commands to run."""

from __future__ import annotations

import enum
import inspect
import re
from typing import Final

import msgspec

# The heading under which a docstring has lines of code, which are not joined.
CODE: Final = "Lines to keep it"


class Kind(enum.Enum):
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
    """A piece of an explanation; ``heading`` is "" for what follows the claim directly.

    ``text`` holds paragraphs, items of a list ("- ...") or, where ``code`` says so, lines to copy.
    """

    heading: str
    text: tuple[str, ...]
    code: bool = False


class Entry(msgspec.Struct, frozen=True):
    """A word under one kind.

    ``aliases`` are other words for it, ``chinese`` its heading in the article, ``commands`` what
    to run (capitals stand for the user's own), ``see`` the names of related entries, ``source``
    the address that it rests on.
    """

    kind: Kind
    name: str
    claim: str
    chinese: str = ""
    aliases: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    commands: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    source: str = ""


def from_docstring(docstring: str | None) -> tuple[str, tuple[Section, ...]]:
    """Cut a docstring into its claim, the first paragraph, and its sections.

    A block whose first line ends with a colon, and whose others are indented, has that heading; any
    other has none. A list is cut at its items.
    """
    claim, *blocks = inspect.cleandoc(docstring or "").replace("``", "").split("\n\n")
    return _joined(claim), tuple(_section(block) for block in blocks)


def _section(block: str) -> Section:
    heading, indented, body = block.partition(":\n    ")
    if not indented or "\n" in heading:
        heading, body = "", block
    if heading == CODE:
        return Section(heading, tuple(line.strip() for line in body.splitlines()), code=True)
    return Section(heading, tuple(_joined(item) for item in re.split(r"\n(?=- )", body)))


def _joined(text: str) -> str:
    return " ".join(text.split())
