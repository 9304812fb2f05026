"""``tailwave show`` and ``tailwave compare`` as their users call them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tailwave.cli import run
from tailwave.session import load, save
from tests.documents import checked
from tests.measured import figure, session
from tests.places import DATA, TRACES
from tests.reports.checks import NARROW, NO_DEVICE

SAVED = DATA / "sessions" / "v1.json"


@pytest.fixture
def narrow(tmp_path: Path) -> Path:
    """A saved session."""
    path = tmp_path / "narrow.json"
    save(NARROW, path)
    return path


def test_show_renders_what_check_printed(narrow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report is the saved one; showing a warning is no failure."""
    assert run(["show", str(narrow)]) == 0
    assert capsys.readouterr().out.startswith("This GPU does not quite schedule as any GPU should")


def test_show_with_figures_and_maps(capsys: pytest.CaptureFixture[str]) -> None:
    """Options add every figure and the maps, of a file of schema 1."""
    assert run(["show", str(SAVED), "--figures", "--maps"]) == 0
    out = capsys.readouterr().out
    assert "\nEvery figure (simulated)\n" in out
    assert "\nThe die: mean L2 latency of each SM (simulated)\n" in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_show_judges_anew(narrow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --judge the verdicts are those of now, on the links that were measured."""
    assert run(["show", str(narrow), "--judge", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [v["link"] for v in document["verdicts"]] == ["launch", "copy", "isolation"]
    assert {v["link"]: v["health"] for v in document["verdicts"]}["copy"] == "warning"


def test_a_session_without_a_device_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that found no device is shown as it was."""
    path = tmp_path / "none.json"
    save(NO_DEVICE, path)
    assert run(["show", str(path), "--judge"]) == 0
    assert capsys.readouterr().out == "UNKNOWN: There is no CUDA driver here.\n"


def test_show_writes_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each picture is named on stderr, so that stdout stays the report."""
    assert run(["show", str(SAVED), "--json", "--png", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["schema"] == 1
    assert printed.err.splitlines() == [
        f"wrote {tmp_path / 'die_map.png'}",
        f"wrote {tmp_path / 'latency_matrix.png'}",
    ]


def test_show_without_maps_to_draw(narrow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to draw is said, and is no failure."""
    assert run(["show", str(narrow), "--png", str(narrow.parent)]) == 0
    assert capsys.readouterr().err == (
        "The session holds no map: topology and l2 were not measured.\n"
    )


def test_compare_prints_the_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference is a result and no failure."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, us in zip(paths, (8.0, 17.0), strict=True):
        save(session(figure("launch.sync", us, "us")), path)
    assert run(["compare", *map(str, paths)]) == 0
    assert (
        " 1. WORSE    a launch and waiting for it: 2.1 times as much\n" in capsys.readouterr().out
    )
    assert run(["compare", "--json", *map(str, paths)]) == 0
    assert json.loads(capsys.readouterr().out)["differences"][0]["change"] == 1.125


def test_compare_with_an_old_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of schema 1 is compared like any other."""
    again = tmp_path / "again.json"
    save(msgspec.structs.replace(load(SAVED), started="2027-01-01T00:00:00+00:00"), again)
    assert run(["compare", str(SAVED), str(again)]) == 0
    assert capsys.readouterr().out.startswith("No difference that counts: ")


def test_compare_divides_the_difference_of_recordings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What makes one step longer than the other, in the first line; the document has all of it."""
    recordings = [str(TRACES / f"decode_small.{way}.json.gz") for way in ("eager", "graph")]
    assert run(["compare", *recordings]) == 0
    assert capsys.readouterr().out.startswith("Faster by ")
    assert run(["compare", "--json", *recordings]) == 0
    document = checked(capsys.readouterr().out, "recording_comparison")
    assert document["parts"][0]["what"] == "launches"


def test_compare_takes_two_of_a_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """A session and a recording, and recordings of different work, have nothing in common."""
    recording, other = (str(TRACES / f"{name}.json.gz") for name in ("input.fed", "gemm.big"))
    for given in ((str(SAVED), recording), (recording, str(SAVED)), (recording, other)):
        assert run(["compare", *given]) == 64
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1


@pytest.mark.parametrize("command", [["show"], ["compare", str(SAVED)]])
@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"schema": 99}', b"\x00\xff"])
def test_a_bad_file_is_one_sentence_and_65(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    content: bytes | None,
) -> None:
    """Whatever is wrong with a file, there is one sentence that names it."""
    path = tmp_path / "bad.json"
    if content is not None:
        path.write_bytes(content)
    assert run([*command, str(path)]) == 65
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert str(path) in printed.err


def test_usage_errors_exit_64() -> None:
    """A missing file name is a usage error."""
    assert run(["show"]) == 64
    assert run(["compare", str(SAVED)]) == 64
