"""What can be said of each cure: what it does, its lines of code, how it is predicted and tried.

The catalogue has an entry for every cure that a report can name; findings speak of a few more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tailwave.cures.catalogue import BY_NAME, CURES
from tailwave.cures.catalogue.base import Entry
from tailwave.explanations.docstrings import from_docstring
from tailwave.model import Meaning, MeaningKind, Section
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.base import KernelRule
from tailwave.recordings.causes import RULES, Rule
from tailwave.recordings.replay.whatif import WHATIFS

# Of recordings, then of kernels.
EVERY_RULE: tuple[Rule | KernelRule, ...] = (*RULES, *KERNEL_RULES)

_CURED_BY = "What cures it"
_NAME = re.compile(r"(?:^|(?<=[.)] ))([a-z][a-z-]+): ")
_UNTRIED = Section("", ("No trial applies it: it is a change of the program's source.",))


def cures() -> Iterator[Meaning]:
    """Yield the cures of the catalogue, then those that only findings speak of."""
    tried = {cure.name: cure.example for cure in CURES}
    cured = _findings_by_cure()
    for name in dict.fromkeys((*BY_NAME, *cured)):
        entry = BY_NAME.get(name)
        told = tuple(_told(entry)) if entry is not None else ()
        yield Meaning(
            MeaningKind.CURE,
            name,
            f"{entry.label}." if entry is not None else cured[name][0][1],
            aliases=tuple(w.name for w in WHATIFS if w.cures[:1] == (name,)),
            sections=told if name in tried else (*told, _UNTRIED),
            commands=tuple(_commands(name, tried)),
            see=tuple(code for code, _ in cured.get(name, ())),
        )


def named_cures(sections: Iterable[Section]) -> dict[str, str]:
    """Return the cures that a finding's docstring names, each with what it says of it."""
    text = " ".join(part for s in sections if s.heading == _CURED_BY for part in s.text)
    _, *pieces = _NAME.split(text)
    return dict(zip(pieces[::2], (_sentence(piece) for piece in pieces[1::2]), strict=True))


def _told(entry: Entry) -> Iterator[Section]:
    yield Section("What it does", (entry.does,))
    yield Section("What it needs", (entry.needs,))
    if entry.advice:
        yield Section("By hand", (entry.advice,))
    yield Section("In code", entry.lines, code=True)


def _findings_by_cure() -> dict[str, list[tuple[str, str]]]:
    """Return for each cure the codes of the findings that name it, and what they say of it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for rule in EVERY_RULE:
        for name, said in named_cures(from_docstring(rule.__doc__)[1]).items():
            found.setdefault(name, []).append((rule.CODE, said))
    return found


def _sentence(text: str) -> str:
    return f"{text.strip().rstrip('.')}."


def _commands(name: str, tried: dict[str, str]) -> Iterator[str]:
    """Yield how it is predicted from a recording, and how it is tried on a program."""
    if any(name in (whatif.name, *whatif.cures) for whatif in WHATIFS):
        yield f"tailwave whatif FILE --{name}"
    if name in tried:
        spec = f"{name}:{tried[name]}" if tried[name] else name
        yield f"tailwave try --cure {spec} SCRIPT.py"
