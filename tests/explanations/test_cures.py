"""Cures in the words of the findings that name them."""

from __future__ import annotations

from tailwave.explanations.cures import cures, named_cures
from tailwave.model import Section

TOLD = (
    "By the limit, which the evidence names. fewer-registers: __launch_bounds__ or maxnreg. "
    "less-shared: smaller tiles (or fewer stages) more-ilp: elements a thread."
)


def test_a_findings_docstring_names_its_cures() -> None:
    """A name and a colon begin a cure, at the start or behind a sentence or a bracket."""
    sections = (Section("What it means", ("not-this: one.",)), Section("What cures it", (TOLD,)))
    assert named_cures(sections) == {
        "fewer-registers": "__launch_bounds__ or maxnreg.",
        "less-shared": "smaller tiles (or fewer stages).",
        "more-ilp": "elements a thread.",
    }
    assert named_cures(()) == {}


def test_a_cure_answers_to_the_name_of_its_what_if() -> None:
    """`explain no-input-stall` leads to prefetch, and no two cures share such a name."""
    aliases = {alias: cure.name for cure in cures() for alias in cure.aliases}
    assert aliases["no-input-stall"] == "prefetch"
    assert aliases["no-wave-tail"] == "whole-waves"
    assert len(aliases) == sum(len(cure.aliases) for cure in cures())
