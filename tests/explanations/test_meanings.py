"""What all meanings have in common, wherever they come from."""

from __future__ import annotations

from collections import Counter

import pytest

from tailwave.cures.catalogue import CURES
from tailwave.explanations.cures import EVERY_RULE
from tailwave.explanations.lookup import meanings
from tailwave.gpu.headlines import HEADLINES
from tailwave.gpu.probes import PROBES
from tailwave.gpu.verdicts import LINKS
from tailwave.model import MeaningKind
from tailwave.profiles.counters.catalogue import Catalogue, find_library
from tailwave.profiles.counters.meanings import MADE_UP
from tests.explanations.commands import refusal


def names(kind: MeaningKind) -> list[str]:
    """Return the names of a kind."""
    return [meaning.name for meaning in meanings() if meaning.kind is kind]


def test_every_member_has_an_entry() -> None:
    """Findings, links, probes, headline figures and article's counters are all there, once each."""
    codes = dict.fromkeys(rule.CODE for rule in EVERY_RULE)
    assert names(MeaningKind.FINDING) == list(codes)
    assert names(MeaningKind.LINK) == [link.LINK for link in LINKS]
    assert names(MeaningKind.PROBE) == [probe.name for probe in PROBES]
    assert set(HEADLINES) - set(names(MeaningKind.FIGURE)) == set()
    assert set(MADE_UP) - set(names(MeaningKind.COUNTER)) == set()
    assert {cure.name for cure in CURES} - set(names(MeaningKind.CURE)) == set()


def test_no_kind_has_a_name_twice() -> None:
    """A kind and a name are one meaning."""
    repeated = [key for key, n in Counter((e.kind, e.name) for e in meanings()).items() if n > 1]
    assert repeated == []


def test_commands_can_be_typed() -> None:
    """Each parses; FILE and SCRIPT.py are names like any other."""
    lines = {line for meaning in meanings() for line in meaning.commands}
    assert [said for said in map(refusal, sorted(lines)) if said] == []


def test_what_is_led_to_is_there() -> None:
    """The names under "See also" are those of meanings."""
    known = {meaning.name for meaning in meanings()}
    assert [(e.name, name) for e in meanings() for name in e.see if name not in known] == []


def test_claims_are_sentences() -> None:
    """Each is one paragraph that ends, without the marks of a docstring."""
    assert [e.claim for e in meanings() if e.claim.rstrip(")")[-1] not in ".?"] == []
    assert [e.claim for e in meanings() if "``" in e.claim or "\n" in e.claim] == []


def test_counters_are_those_of_a_chip() -> None:
    """Every counter named, but for those that are said to exist on no chip, is in GH100's list."""
    if find_library() is None:
        pytest.skip("needs the list of counters: pip install nvidia-cuda-cupti")
    real = {e.name for e in meanings() if e.kind is MeaningKind.COUNTER and e.name not in MADE_UP}
    listed = Catalogue().names("gh100")
    assert {name for name in real if not name.startswith("launch__")} - listed == set()
