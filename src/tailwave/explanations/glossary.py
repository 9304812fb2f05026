"""The words that people arrive with, environment variables and XIDs, from files that say it all.

``words.toml``, ``variables.toml`` and ``xids.toml`` lie beside this file; each table in them is a
Word. To add one is to add a table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

import msgspec

from tailwave.model import Meaning, MeaningKind, Section

_FILES = {
    MeaningKind.VARIABLE: "variables.toml",
    MeaningKind.XID: "xids.toml",
    MeaningKind.WORD: "words.toml",
}
XID_CATALOGUE: Final = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a glossary's file.

    ``claim`` is the answer in a sentence. ``real`` and ``unreal`` tell what of the word holds and
    what does not; ``fault`` whose fault an XID usually is, and ``then`` what to do next. ``source``
    is the address that it rests on, and the other fields are those of an Meaning.
    """

    claim: str
    chinese: str = ""
    aliases: tuple[str, ...] = ()
    real: str = ""
    unreal: str = ""
    fault: str = ""
    then: str = ""
    commands: tuple[str, ...] = ()
    see: tuple[str, ...] = ()
    source: str = ""


def glossary() -> Iterator[Meaning]:
    """Yield the meanings of all files."""
    for kind, file in _FILES.items():
        text = (files("tailwave.explanations") / file).read_text("utf-8")
        for name, word in msgspec.convert(tomllib.loads(text), dict[str, Word]).items():
            told = {
                "What is real": word.real,
                "What is not": word.unreal,
                "Whose fault it usually is": word.fault,
                "What to do next": word.then,
            }
            yield Meaning(
                kind,
                name,
                word.claim,
                chinese=word.chinese,
                aliases=word.aliases,
                sections=tuple(Section(head, (text,)) for head, text in told.items() if text),
                commands=word.commands,
                see=word.see,
                source=XID_CATALOGUE if kind is MeaningKind.XID else word.source,
            )
