"""Which counters answer what was asked."""

from __future__ import annotations

import pytest

from tailwave.errors import UnavailableError, UsageError
from tailwave.profiles.counters import Counters, catalogue, find_counters
from tailwave.profiles.counters.answers import ncu_command
from tailwave.profiles.rules import KERNEL_RULES

CODES = [rule.CODE for rule in KERNEL_RULES]


@pytest.fixture(autouse=True)
def use_no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the chips' lists away: what is asked is found without."""

    def refuse() -> None:
        raise UnavailableError("no list is installed.")

    monkeypatch.setattr(catalogue, "Catalogue", refuse)


def asked(*texts: str) -> Counters:
    """Ask on an H200's chip."""
    return find_counters(texts, (), "gh100")


def codes(*texts: str) -> list[str]:
    """Return the questions that were understood, and the names."""
    found = asked(*texts)
    return [one.code for one in found.questions] + [one.name for one in found.names]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["barriers"], ["barrier-stall"]),
        (["bank", "atomics"], ["bank-conflict", "atomic-contention"]),
        (["Wave-Tail"], ["wave-tail"]),
        (["bank_conflict"], ["bank-conflict"]),
        (["Bank Conflicts"], ["bank-conflict"]),
        (["bank", "conflict"], ["bank-conflict"]),
        (["bank-conflict,wave-tail"], ["bank-conflict", "wave-tail"]),
        (["L2 hit rate"], ["L2 hit rate"]),
        (["L2", "hit", "rate"], ["L2 hit rate"]),
        (["L2", "hit", "rates"], ["L2 hit rates"]),
        (["issue gap", "barrier-stall"], ["barrier-stall", "issue gap"]),
    ],
)
def test_words_find_their_questions(texts: list[str], expected: list[str]) -> None:
    """By code, by a word of the question, by what people call it; quoted or not."""
    assert codes(*texts) == expected


@pytest.mark.parametrize(
    "texts",
    [
        ["sm__cycles_active.avg,l1tex__data_bank_conflicts.sum"],
        ["sm__cycles_active.avg,", "l1tex__data_bank_conflicts.sum"],
        ["sm__cycles_active.avg , l1tex__data_bank_conflicts.sum,"],
        ["SM__cycles_active.avg", "l1tex__data_bank_conflicts.SUM"],
    ],
)
def test_a_list_as_ncu_takes_it(texts: list[str]) -> None:
    """Commas, spaces and line breaks of a copy, in any case."""
    assert codes(*texts) == ["sm__cycles_active.avg", "l1tex__data_bank_conflicts.sum"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("bank-conflct", "did you mean bank-conflict?"),
        ("wavetail", "did you mean wave-tail?"),
        ("L2 hitrate", "did you mean L2 hit rate?"),
        ("gremlins", f"there are {', '.join(CODES)}."),
    ],
)
def test_a_slip_is_answered_with_what_is_near(text: str, meant: str) -> None:
    """Where nothing is, with all that there is."""
    with pytest.raises(UsageError) as caught:
        asked(text)
    assert str(caught.value) == f"no question speaks of {text!r}; {meant}"
    with pytest.raises(UsageError, match="no finding of a kernel is called"):
        find_counters((), (text,), "gh100")


def test_words_that_mean_something_only_together_are_answered_together() -> None:
    """A slip in an unquoted phrase is one of the phrase, not of its words."""
    with pytest.raises(UsageError, match=r"'L2 hit raet'; did you mean L2 hit rate\?"):
        asked("L2", "hit", "raet")


def test_codes_forgive_case_and_underscores() -> None:
    """As the options of the shell do not."""
    found = find_counters((), ("Bank_Conflict",), "gh100")
    assert [one.code for one in found.questions] == ["bank-conflict"]


def test_a_slip_in_a_counter_is_found_without_a_list() -> None:
    """Among those that the rules record; what is one of them is left alone."""
    slip, ours = asked("sm__cycle_active.avg", "sm__cycles_active.avg").names
    assert (slip.exists, slip.instead[0]) == (None, "sm__cycles_active")
    assert (ours.exists, ours.instead) == (None, ())


def test_nothing_asked_is_every_question() -> None:
    """In the order of the rules, with one command for all."""
    found = asked()
    assert [one.code for one in found.questions] == CODES
    assert found.command.startswith("ncu --section LaunchStats")


def test_counters_are_given_once_each() -> None:
    """In the order asked for, for one report."""
    assert ncu_command(["a__b.sum", "c__d.avg", "a__b.sum"]) == (
        "ncu --metrics a__b.sum,c__d.avg -o kernels YOUR_PROGRAM"
    )


def test_the_launchs_properties_come_by_section() -> None:
    """What is no counter is recorded by the sections that hold it."""
    assert ncu_command(["launch__grid_size", "a__b.sum"]) == (
        "ncu --section LaunchStats --section Occupancy --metrics a__b.sum -o kernels YOUR_PROGRAM"
    )
