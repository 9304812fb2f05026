"""What every rule of the family has, and who else must know of it."""

from __future__ import annotations

import inspect

import pytest

from tailwave.profiles import KERNEL_RULES, KernelRule
from tailwave.recordings.causes import RULES
from tests.places import ROOT

HEADINGS = ("What it means:", "How it is found:", "What cures it:", "What fools it:")
OF_RECORDINGS = {rule.CODE for rule in RULES}
each_rule = pytest.mark.parametrize("rule", KERNEL_RULES, ids=lambda rule: rule.CODE)


def explanation(rule: KernelRule) -> str:
    """Return what `tailwave explain` prints."""
    return inspect.cleandoc(rule.__doc__ or "")


@each_rule
def test_an_explanation_leads_with_the_question(rule: KernelRule) -> None:
    """Its first line; a published figure may follow it in brackets."""
    first = explanation(rule).splitlines()[0].lower()
    assert first.startswith(rule.QUESTION.lower().removesuffix("?"))
    assert first.endswith("?")


@each_rule
def test_an_explanation_has_its_headings(rule: KernelRule) -> None:
    """But for causes that a recording's rule explains."""
    found = tuple(line for line in explanation(rule).splitlines() if line in HEADINGS)
    assert found == (() if rule.CODE in OF_RECORDINGS else HEADINGS)


@each_rule
def test_the_documentation_knows_the_rule(rule: KernelRule) -> None:
    """It has a row in the table of shares."""
    text = (ROOT / "docs" / "kernels.md").read_text("utf-8")
    assert f"\n| `{rule.CODE}` |" in text, f"add {rule.CODE} to the table in docs/kernels.md"
