"""``--step-time``: what may be written, and where it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailwave import api
from tailwave.cli import run
from tailwave.cli import whatif as whatif_command
from tailwave.errors import USAGE, TailwaveError
from tests.places import TRACES

TRACE = str(TRACES / "decode_small.eager.json.gz")


class SeenError(TailwaveError):
    """Ends a command once its words have been read."""


@pytest.fixture(name="seen", autouse=True)
def make_seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the step times that the library was given."""
    seen: list[Any] = []

    def keep(*_: object, step_time: object, **__: object) -> None:
        seen.append(step_time)
        raise SeenError("enough")

    monkeypatch.setattr(api, "diagnose", keep)
    monkeypatch.setattr(whatif_command, "whatif", keep)
    return seen


@pytest.mark.parametrize("command", ["diagnose", "whatif"])
@pytest.mark.parametrize(
    ("words", "us"),
    [
        (["25.7ms"], [25_700.0]),
        (["25700us"], [25_700.0]),
        (["25700 µs"], [25_700.0]),
        ([".0257s"], [25_700.0]),
        (["4.6ms,10.2ms"], [4600.0, 10_200.0]),
        (["4.6ms", "10.2ms"], [4600.0, 10_200.0]),
        (["4.6ms, 1s", "10us"], [4600.0, 1e6, 10.0]),
        ([], None),
    ],
)
def test_times_are_given_in_their_units(
    command: str, words: list[str], us: list[float] | None, seen: list[Any]
) -> None:
    """One, or one a rank: in a list, or each by itself."""
    run([command, TRACE, *(part for word in words for part in ("--step-time", word))])
    assert seen == [pytest.approx(us) if us else None]


@pytest.mark.parametrize("command", ["diagnose", "whatif"])
@pytest.mark.parametrize("word", ["25.7", "ms", "-1ms", "1min", "", "4ms,", "nan ms", "1e3ms"])
def test_what_is_no_time_is_refused(
    command: str, word: str, seen: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to write instead."""
    assert run([command, TRACE, "--step-time", word]) == USAGE
    assert "is no time: write 25.7ms (us, ms or s)" in capsys.readouterr().err
    assert seen == []


def test_a_file_that_is_not_there_is_still_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The option does not stand in the way of other errors."""
    assert run(["diagnose", str(Path("no.json")), "--step-time", "1ms"]) != 0
    assert "no.json" in capsys.readouterr().err
