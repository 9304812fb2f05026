"""The page on the article: names that can be explained, commands that can be typed."""

from __future__ import annotations

import re

from tailwave.explanations import find
from tests.explanations.commands import refusal
from tests.places import ROOT

TEXT = (ROOT / "docs" / "article.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
INLINE = re.findall(
    r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE)
)


def test_its_commands_can_be_typed() -> None:
    """Those of the blocks, and those that its tables name."""
    lines = [line for block in BLOCKS for line in block.splitlines() if line[:9] == "tailwave "]
    short = [code for code in INLINE if code.startswith(("check ", "metrics "))]
    lines += [f"tailwave {code}" for code in short]
    assert len(lines) > 20
    assert [said for said in map(refusal, lines) if said] == []


def test_findings_that_it_names_can_be_explained() -> None:
    """What stands there with a hyphen between its words is a finding's code."""
    codes = [code for code in INLINE if re.fullmatch(r"[a-z]+-[a-z]+", code)]
    assert len(codes) > 10
    assert [code for code in codes if not find(code)] == []


def test_what_is_planned_is_in_the_roadmap() -> None:
    """Each plan that it names is an item there."""
    planned = re.findall(r"\[(\w+)\]\(\.\./ROADMAP\.md\)", TEXT)
    roadmap = (ROOT / "ROADMAP.md").read_text("utf-8")
    assert set(planned) == {"scale", "backends", "watch", "doctor"}
    assert [plan for plan in planned if f"- **{plan}**:" not in roadmap] == []
