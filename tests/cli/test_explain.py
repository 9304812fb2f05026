"""``tailwave explain`` as its users call it."""

from __future__ import annotations

import json

import pytest

from tailwave.cli import run
from tailwave.errors import USAGE
from tailwave.explanations.cures import EVERY_RULE
from tailwave.explanations.lookup import meanings

CODES = list(dict.fromkeys(rule.CODE for rule in EVERY_RULE))


@pytest.mark.parametrize("code", CODES)
def test_a_finding_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The explanation begins with the code and has the four headings."""
    assert run(["explain", code]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{code}: ")
    headings = ["What it means:", "How it is found:", "What cures it:", "What fools it:"]
    assert [line for line in out.splitlines() if line in headings] == headings


def test_every_cure_that_a_report_names_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Right after "Try cuda-graph", `explain cuda-graph` answers."""
    for name in ("cuda-graph", "compile", "prefetch", "remove-sync", "pad-shared", "swizzle"):
        assert run(["explain", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}: ")


def test_without_a_word_all_kinds_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind begins a line, and the codes of all findings are there."""
    assert run(["explain"]) == 0
    out = capsys.readouterr().out
    begun = [line.split()[0] for line in out.splitlines() if line and line[0] != " "]
    assert begun == [
        *("findings", "cures", "links", "probes", "figures", "counters"),
        *("variables", "XIDs", "words", "To"),
    ]
    assert [code for code in CODES if code not in out] == []


@pytest.mark.parametrize("words", [["XID 79"], ["XID", "79"], ["xid79"], ["79"]])
def test_an_xid_needs_no_quotes(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Several words are one question."""
    assert run(["explain", *words]) == 0
    assert capsys.readouterr().out.startswith("XID 79 (GPU掉线): The GPU has fallen off the bus")


def test_an_option_of_another_command_can_be_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What begins with hyphens is a word like any other."""
    assert run(["explain", "--cuda-graph"]) == 0
    assert capsys.readouterr().out.startswith("cuda-graph: ")


def test_an_unknown_word_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A word that means nothing is refused with what can be asked."""
    assert run(["explain", "gremlins"]) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "tailwave: nothing is called 'gremlins' here. `tailwave explain` lists all that can be "
        "asked.\n"
    )


def test_the_explanation_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json every meaning is there with its sections."""
    assert run(["explain", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 2
    assert document["word"] == ""
    assert [meaning["name"] for meaning in document["meanings"]] == [
        meaning.name for meaning in meanings()
    ]


def test_one_word_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    """The fields of an meaning, as a program reads them."""
    assert run(["explain", "--json", "XID 172"]) == 0
    (meaning,) = json.loads(capsys.readouterr().out)["meanings"]
    sections = meaning.pop("sections")
    assert sections[0] == {
        "heading": "Whose fault it usually is",
        "text": ["Hardware."],
        "code": False,
    }
    assert meaning == {
        "kind": "XID",
        "name": "XID 172",
        "claim": "Says of an XID 48 that the error was in SRAM: caches, registers, shared memory.",
        "chinese": "",
        "aliases": [],
        "commands": [],
        "see": ["XID 48"],
        "source": "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
    }
