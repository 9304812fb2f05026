"""The files of words, variables and XIDs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import pytest

from tailwave.explanations.glossary import XID_CATALOGUE, glossary
from tailwave.explanations.lookup import meanings
from tailwave.model import Meaning, MeaningKind
from tailwave.profiles.counters.meanings import MADE_UP
from tailwave.profiles.rules import KERNEL_RULES

WORDS = list(glossary())
each_word = pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
_COUNTER = re.compile(r"\b[a-z0-9]+__[a-z0-9_]+\b")


def spelled(text: str) -> str:
    """Return what is left of a name once case and everything between letters are gone."""
    return re.sub(r"[\W_]+", "", text.casefold())


def test_a_name_stands_for_one_word() -> None:
    """No two tables of the files share a name, an alias or a Chinese heading."""
    said = [{spelled(t) for t in (w.name, w.chinese, *w.aliases) if t} for w in WORDS]
    assert [name for name, n in Counter(chain.from_iterable(said)).items() if n > 1] == []


def test_an_alias_is_nobody_elses_name() -> None:
    """What something is called by itself is not another word's alias, or it would hide that."""
    own = {spelled(meaning.name): meaning.kind for meaning in meanings()}
    aliases = [(word.name, alias) for word in WORDS for alias in word.aliases]
    assert [(name, alias) for name, alias in aliases if spelled(alias) in own] == []


@each_word
def test_a_word_says_what_it_is_worth(word: Meaning) -> None:
    """A word tells what is real or what is not, an XID whose fault it is and what to do."""
    headings = [section.heading for section in word.sections]
    if word.kind is MeaningKind.XID:
        assert headings == ["Whose fault it usually is", "What to do next"]
        assert word.source == XID_CATALOGUE
    elif word.kind is MeaningKind.WORD:
        assert headings in (
            ["What is real"],
            ["What is not"],
            ["What is real", "What is not"],
        )
        assert word.commands != ()


@each_word
def test_counters_that_it_names_are_known(word: Meaning) -> None:
    """A counter is one that a rule or the catalogue of real names has, or is said to be none."""
    told = " ".join(text for section in word.sections for text in section.text)
    asked = {metric.partition(".")[0] for rule in KERNEL_RULES for metric in rule.METRICS}
    known = asked | set(MADE_UP) | {"lts__t_sector_hit_rate"}
    unknown = [
        name
        for name in _COUNTER.findall(told)
        if not any(one == name or (name.endswith("_") and one.startswith(name)) for one in known)
    ]
    assert unknown == []


def test_xids_are_in_order() -> None:
    """Each has its number, once, ascending."""
    numbers = [
        int(word.name.removeprefix("XID ")) for word in WORDS if word.kind is MeaningKind.XID
    ]
    assert numbers == sorted(set(numbers))
