"""Whether a command can be started at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwave.cures.trials.refusals import refuse_unknown, refuse_unstartable
from tailwave.errors import TailwaveError, UnavailableError, UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with a program, a file that is none, and a folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")
    (tmp_path / "program").write_text("#!/bin/sh")
    (tmp_path / "program").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "kind", "words"),
    [
        ("", UsageError, "the command is empty"),
        ("nosuch", UnavailableError, "there is no program nosuch here: check its name"),
        ("folder", UnavailableError, "folder is a folder"),
        ("./folder", UnavailableError, "./folder is a folder"),
        ("./plain", UnavailableError, r"not executable: make it so \(chmod \+x\)"),
        ("program", UnavailableError, "not on PATH: write ./program"),
        ("ls | wc -l", UsageError, "to a shell: sh -c 'ls | wc -l'"),
        ("A=1", UsageError, "write `env A=1 COMMAND`"),
        ("x" * 5000, UnavailableError, "there is no program"),
    ],
)
def test_what_cannot_be_started_is_refused_with_what_to_write(
    word: str, kind: type[TailwaveError], words: str, here: Path
) -> None:
    """Before anything is run."""
    del here
    with pytest.raises(kind, match=words.replace("|", r"\|")):
        refuse_unstartable((word,), {"PATH": "/bin"})


def test_programs_are_looked_for_where_the_command_would_be(here: Path) -> None:
    """By the path that the program is given, or by a path of its own."""
    refuse_unstartable(("sh", "-c", "ls | wc"), {"PATH": "/bin"})
    refuse_unstartable(("program",), {"PATH": str(here)})
    refuse_unstartable(("./program",), {"PATH": "/bin"})


@pytest.mark.parametrize(
    ("cure", "words"),
    [
        ("wish", "there is no cure wish; the cures are"),
        ("host-threads:0", "a whole number from 1"),
        ("env:A=\udcff", "is no text in UTF-8"),  # the lines that keep it could not be printed
    ],
)
def test_what_is_no_cure_is_refused(cure: str, words: str) -> None:
    """Nor may one of several be unknown."""
    with pytest.raises(UsageError, match=words):
        refuse_unknown(("cuda-graph", cure), {})
