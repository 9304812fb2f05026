"""What can be said of each cure: what it does, its lines of code, how it is predicted and tried.

Three places speak of cures: the catalogue of those that a trial can apply, the advice on those that
it cannot, and the findings, which name every cure of theirs in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.choose import ADVICE
from tailwave.explanations.docstrings import CODE, from_docstring
from tailwave.model import Meaning, MeaningKind, Section
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.recordings.causes import RULES
from tailwave.recordings.replay.whatif import WHATIFS

_CURED_BY = "What cures it"
_NAME = re.compile(r"(?:^|(?<=[.)] ))([a-z][a-z-]+): ")
_UNTRIED = Section("", ("No trial applies it: it is a change of the program's source.",))
_SHOWN = ("What it does", "What it needs", CODE)


def cures() -> Iterator[Meaning]:
    """Yield every cure that is applied, advised or named by a finding."""
    tried = {cure.NAME: cure for cure in CURES}
    cured = _findings_by_cure()
    for name in dict.fromkeys((*tried, *ADVICE, *cured)):
        codes = tuple(code for code, _ in cured.get(name, ()))
        if name in tried:
            claim, sections = from_docstring(tried[name].__doc__)
            sections = tuple(section for section in sections if section.heading in _SHOWN)
        else:
            claim = ADVICE.get(name) or cured[name][0][1]
            sections = (_UNTRIED,)
        yield Meaning(
            MeaningKind.CURE,
            name,
            claim,
            aliases=tuple(w.name for w in WHATIFS if w.cures[:1] == (name,)),
            sections=sections,
            commands=tuple(_commands(name, tried=name in tried)),
            see=codes,
        )


def named_cures(sections: Iterable[Section]) -> dict[str, str]:
    """Return the cures that a finding's docstring names, each with what it says of it."""
    text = " ".join(part for s in sections if s.heading == _CURED_BY for part in s.text)
    _, *pieces = _NAME.split(text)
    return dict(zip(pieces[::2], (_sentence(piece) for piece in pieces[1::2]), strict=True))


def _findings_by_cure() -> dict[str, list[tuple[str, str]]]:
    """Return for each cure the codes of the findings that name it, and what they say of it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for rule in (*RULES, *KERNEL_RULES):
        for name, said in named_cures(from_docstring(rule.__doc__)[1]).items():
            found.setdefault(name, []).append((rule.CODE, said))
    return found


def _sentence(text: str) -> str:
    return f"{text.strip().rstrip('.')}."


def _commands(name: str, *, tried: bool) -> Iterator[str]:
    """Yield how it is predicted from a recording, and how it is tried on a program."""
    if any(name in (whatif.name, *whatif.cures) for whatif in WHATIFS):
        yield f"tailwave whatif FILE --{name}"
    if tried:
        yield f"tailwave try --cure {name} SCRIPT.py"
