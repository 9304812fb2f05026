"""What the examples print."""

from __future__ import annotations

import json
import sys

import pytest

from tailwave.errors import UnavailableError
from tests.examples.scripts import EXAMPLES, load

showing = load(EXAMPLES, "showing")

BEFORE = showing.Row("before: eager", tuple(float(us) for us in range(1, 102)))
AFTER = showing.Row("after", (2000.0, 2000.0), "bitwise")
NONE = showing.Row("the tenant alone", (), "1.4 ms")


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 51.0), (0.99, 100.0), (0.0, 1.0), (0.995, 100.5)]
)
def test_quantiles_are_interpolated(share: float, expected: float) -> None:
    """Of 1 to 101 the median is 51, and between two values lies their mean."""
    assert showing.quantile(BEFORE.us, share) == pytest.approx(expected)


def test_the_columns_stand_under_one_another() -> None:
    """Each row has its median, its 99th percentile and its remark; without runs, dashes."""
    assert showing.table((BEFORE, AFTER, NONE)) == [
        "                       p50       p99",
        "before: eager        51 us    100 us",
        "after                 2 ms      2 ms  bitwise",
        "the tenant alone         -         -  1.4 ms",
    ]


def test_a_row_without_runs_has_no_figures() -> None:
    """What was not measured is null, never 0."""
    assert NONE.document() == {
        "what": "the tenant alone",
        "p50_us": None,
        "p99_us": None,
        "runs": 0,
        "remark": "1.4 ms",
    }


def test_a_gain_is_said_in_times() -> None:
    """From 12 to 4 is three times."""
    assert showing.times_better(12.0, 4.0) == "3.0 times"


def shown() -> object:
    """Return a small result."""
    return showing.Shown("NVIDIA H200", (AFTER,), "It helps.")


def test_json_is_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json nothing else is on standard output."""
    monkeypatch.setattr(sys, "argv", ["x.py", "--json"])
    assert showing.run("Shows.", shown) == 0
    row = {"what": "after", "p50_us": 2000.0, "p99_us": 2000.0, "runs": 2, "remark": "bitwise"}
    assert json.loads(capsys.readouterr().out) == {
        "gpu": "NVIDIA H200",
        "rows": [row],
        "sentence": "It helps.",
    }


def test_the_report_ends_with_the_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The GPU first, then the table, then what it shows."""
    monkeypatch.setattr(sys, "argv", ["x.py"])
    assert showing.run("Shows.", shown) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("NVIDIA H200", "It helps.", 4)


def test_what_is_missing_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of tailwave's is printed under the script's name, with its exit code."""

    def missing() -> object:
        raise UnavailableError("There is no GPU.")

    monkeypatch.setattr(sys, "argv", ["x.py"])
    assert showing.run("Shows.", missing) == 69
    assert capsys.readouterr().err == "x.py: There is no GPU.\n"


class Stream:
    """A stream that notes how often it was waited for."""

    def __init__(self) -> None:
        """Start at none."""
        self.waits = 0

    def synchronize(self) -> None:
        """Note it."""
        self.waits += 1


def test_steps_take_turns() -> None:
    """Each step is warmed up, then they alternate round by round; each run is waited for."""
    stream, calls = Stream(), list[str]()

    class Torch:
        class cuda:  # noqa: N801
            current_stream = staticmethod(lambda: stream)

    steps = {name: lambda name=name: calls.append(name) for name in ("a", "b")}
    taken = showing.in_turns(Torch, steps, rounds=2, runs=3)
    warm = showing.WARM_UPS
    assert "".join(calls) == "a" * warm + "b" * warm + "aaabbb" * 2
    assert {name: len(us) for name, us in taken.items()} == {"a": 6, "b": 6}
    assert stream.waits == len(calls)
