"""``tailwave metrics`` as its users call it."""

from __future__ import annotations

import json

import pytest

from tailwave.cli import run
from tailwave.errors import USAGE, UnavailableError
from tailwave.profiles.counters import catalogue
from tailwave.profiles.counters.names import base, of_the_launch
from tailwave.profiles.rules import KERNEL_RULES, bank_conflict, fabric_crossing

CODES = [rule.CODE for rule in KERNEL_RULES]
ALL = frozenset(base(name) for rule in KERNEL_RULES for name in rule.METRICS)


class Lists:
    """A library that knows a chip with every counter, one without a fabric, one without DRAM."""

    chips = staticmethod(lambda: ("gh100", "ad102", "ga10b"))

    @staticmethod
    def names(chip: str) -> frozenset[str]:
        """Return the chip's counters."""
        lacking = {"gh100": "nothing", "ad102": "ltcfabric", "ga10b": "dram"}[chip]
        return frozenset(name for name in ALL if lacking not in name)


@pytest.fixture(name="lists")
def use_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a library in place."""
    monkeypatch.setattr(catalogue, "Catalogue", Lists)


@pytest.fixture(name="no_lists")
def use_no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the library away."""

    def refuse() -> Lists:
        raise UnavailableError("no list is installed.")

    monkeypatch.setattr(catalogue, "Catalogue", refuse)


@pytest.mark.usefixtures("lists")
def test_a_code_is_answered_with_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Its counters, and the line to run; the duration is recorded with any."""
    assert run(["metrics", "--for", "bank-conflict"]) == 0
    out = capsys.readouterr().out
    counters = ",".join(name for name in bank_conflict.METRICS if not of_the_launch(name))
    sections = "--section LaunchStats --section Occupancy"
    assert f"ncu {sections} --metrics gpu__time_duration.sum,{counters} -o" in out
    assert "checked against the list of gh100" in out


@pytest.mark.usefixtures("no_lists")
def test_without_a_library_names_are_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is the same, and the reason is given."""
    assert run(["metrics", "--for", "bank-conflict"]) == 0
    assert "Names were not checked: no list is installed." in capsys.readouterr().out


@pytest.mark.usefixtures("lists")
def test_without_a_question_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each, in the order of the rules, and one command for all."""
    assert run(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[: len(CODES)]] == CODES
    assert sum(line.startswith("ncu ") for line in lines) == 1


@pytest.mark.usefixtures("lists")
def test_a_word_that_people_use_is_answered_with_counters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What it is, the counter, and the line to record it; it is no name of a counter."""
    assert run(["metrics", "L2 hit rate"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("L2 hit rate: of the sectors that the L2 was asked for, those that it")
    assert "  lts__t_sector_hit_rate.pct\n" in out
    assert "ncu --metrics gpu__time_duration.sum,lts__t_sector_hit_rate.pct -o" in out


@pytest.mark.usefixtures("lists")
def test_a_chip_without_a_fabric_has_no_such_question(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is recorded for what the chip cannot answer."""
    assert run(["metrics", "--json", "--for", "fabric-crossing", "--chip", "ad102"]) == 0
    document = json.loads(capsys.readouterr().out)
    (one,) = document["questions"]
    assert one["metrics"] == []
    assert fabric_crossing.METRICS[0] in one["lacking"]
    assert document["command"] is None


@pytest.mark.usefixtures("lists")
def test_an_invented_name_is_answered_with_real_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """What was meant, why the name is none, and the line to record it."""
    assert run(["metrics", "gpu__arbitration__requests"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("gpu__arbitration__requests exists on no chip: ")
    assert "ncu --metrics gpu__time_duration.sum,lts__t_requests.sum," in out
    assert CODES[0] not in out


@pytest.mark.usefixtures("lists")
def test_names_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """One that exists, one that nearly does."""
    assert run(["metrics", "sm__cycles_active.avg", "sm__cycle_active.avg"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "sm__cycles_active.avg exists.",
        "sm__cycle_active.avg does not exist here. Did you mean:",
        "  sm__cycles_active",
    ]


@pytest.mark.usefixtures("no_lists")
def test_a_name_cannot_be_checked_without_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither yes nor no."""
    assert run(["metrics", "--json", "sm__cycles_active.avg"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["names"]
    assert one["exists"] is None


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--for", "gremlins"], "'gremlins'"),
        (["bank-conflct"], "did you mean bank-conflict?"),
        (["--chip", "zx81"], "gh100, ad102"),
    ],
)
def test_what_is_not_known_is_a_usage_error(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence that names what there is."""
    assert run(["metrics", *arguments]) == USAGE
    assert words in capsys.readouterr().err


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("code", ["memory-latency", "uncoalesced"])
def test_what_a_chip_cannot_answer_is_not_recorded(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chip that shares its memory with the host counts no DRAM: a run would be in vain."""
    assert run(["metrics", "--for", code, "--chip", "sm_87"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "does not have gpu__dram_throughput" in out
    assert "so it has no answer there" in out
    assert "ncu --" not in out


@pytest.mark.usefixtures("lists")
def test_a_wrong_ending_is_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The counter is there, what stands behind it is not."""
    assert run(["metrics", "sm__cycles_active.mean"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("sm__cycles_active.mean exists on no chip: what stands behind")
    assert "Record:" not in out
    assert run(["metrics", "sm__cycles_active.avg"]) == 0
    assert capsys.readouterr().out.startswith("sm__cycles_active.avg exists.")
