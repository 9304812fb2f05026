"""An answer as a text and as a document."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.errors import UsageError
from tailwave.explanations import explain
from tailwave.explanations.glossary import XID_CATALOGUE
from tailwave.explanations.lookup import meanings
from tailwave.model import Explanation

ANSWER = """\
arbiter (仲裁器): No unit of that name is documented, and no counter of
arbitration exists; the way to L2 does get crowded.

What is real:
  A GPC's SMs share a port to L2: 16 SMs of one GPC read 7.1 times what one
  reads, 16 spread over all GPCs 14.5 times (H200). A read beside 116 streaming
  SMs takes 419 cycles instead of 310.

What is not:
  Time-outs, rejected requests and a degraded mode have no source.
  gpu__arbitration__* exists on no chip, and the article's kernel (ARB) keeps to
  one warp's shared memory.

Run:      tailwave check --only fabric
          tailwave metrics gpu__arbitration__requests
See also: fabric, fabric-crossing"""


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_an_answer_is_a_text() -> None:
    """Claim, what is real, what is not, what to run; the Chinese heading is kept."""
    assert str(explain("ARB")) == ANSWER


def test_what_means_several_things_is_told_in_brief() -> None:
    """Each kind has its claim, and the command that tells the rest."""
    lines = str(explain("launch")).splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == ["link", "probe"]
    assert [line.strip() for line in lines if "tailwave" in line] == [
        "tailwave explain link launch",
        "tailwave explain probe launch",
    ]


def test_a_cure_has_its_code_and_its_commands() -> None:
    """What it does, what it needs, lines of code, how it is predicted and tried."""
    lines = str(explain("cuda-graph")).splitlines()
    assert [line for line in lines if line.startswith("What it ")] == [
        "What it does:",
        "What it needs:",
    ]
    assert "  step = tailwave.graph(step, *example_args)" in lines
    assert lines[-3:] == [
        "Run:      tailwave whatif FILE --cuda-graph",
        "          tailwave try --cure cuda-graph SCRIPT.py",
        "See also: launch-bound, host-contention",
    ]


def test_a_cure_of_the_source_says_that_nothing_tries_it() -> None:
    """What no trial can apply is explained too, and leads to the finding that asks for it."""
    lines = str(explain("pad shared")).splitlines()
    assert lines[0].startswith("pad-shared: ")
    assert "  No trial applies it: it is a change of the program's source." in lines
    assert lines[-1] == "See also: bank-conflict"


def test_a_near_miss_is_answered_and_says_so() -> None:
    """The first line tells what was taken for the word."""
    answer = explain("lanch-bound")
    assert answer.note == "Nothing is called 'lanch-bound' here; the nearest is launch-bound."
    assert str(answer).splitlines()[:3] == [
        answer.note,
        "",
        "launch-bound: The GPU waits for the host to issue work.",
    ]


@pytest.mark.parametrize("word", ["", "  ", "\n"])
def test_of_no_word_everything_is_listed(word: str) -> None:
    """Every name of the kinds that people ask for is there."""
    answer = explain(word)
    assert answer.meanings == meanings()
    listed = " ".join(str(answer).split())
    assert [e.name for e in meanings() if e.kind.value == "cure" and e.name not in listed] == []


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("fairness", "'fairness' here. Did you mean fabric.fairness or dispatch.fairness?"),
        ("🚀", "'🚀' here."),
        ("\x1b[31mred\x00", "'\\x1b[31mred\\x00' here."),
        ("q" * 5000, f"'{'q' * 60}...' here."),
    ],
    ids=["several", "emoji", "control", "long"],
)
def test_what_means_nothing_is_refused(word: str, said: str) -> None:
    """The sentence names what is near, and what can be asked."""
    with pytest.raises(UsageError) as caught:
        explain(word)
    rest = "`tailwave explain` lists all that can be asked."
    assert str(caught.value) == f"nothing is called {said} {rest}"


def test_an_xid_that_is_not_known_is_said_to_be() -> None:
    """No other number is taken for it, and the catalogue that has it is named."""
    with pytest.raises(UsageError) as caught:
        explain("XID 999")
    assert str(caught.value) == (
        f"XID 999 is unknown here; NVIDIA's catalogue has all of them ({XID_CATALOGUE})."
    )


def test_a_document_holds_everything() -> None:
    """It is read back as what it was written from."""
    answer = explain("bank conflict")
    document = msgspec.json.decode(msgspec.json.encode(answer.to_dict()))
    assert document["schema"] == 2
    assert msgspec.convert(document, Explanation) == answer
