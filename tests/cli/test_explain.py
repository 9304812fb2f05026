"""``tailwave explain`` as its users call it."""

from __future__ import annotations

import json

import pytest

from tailwave.cli import run
from tailwave.errors import USAGE
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.recordings.causes import RULES

CODES = list(dict.fromkeys(rule.CODE for rule in (*RULES, *KERNEL_RULES)))


@pytest.mark.parametrize("code", CODES)
def test_a_finding_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The explanation begins with the code and has the four headings."""
    assert run(["explain", code]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{code}: ")
    headings = [line for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["What it means:", "How it is found:", "What cures it:", "What fools it:"]


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each code has a line of its own, in the order of the rules."""
    assert run(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == CODES


def test_an_unknown_code_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A code that nobody has is refused with those that there are."""
    assert run(["explain", "gremlins"]) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "'gremlins'" in err
    assert [code for code in CODES if code not in err] == []


def test_the_explanation_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json every finding's explanation is cut at its headings."""
    assert run(["explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [finding["code"] for finding in document["findings"]] == CODES
    sections = ["code", "claim", "what_it_means", "how_it_is_found", "what_cures_it"]
    assert [list(finding) for finding in document["findings"]] == [
        [*sections, "what_fools_it"] for _ in CODES
    ]
