"""The command line as a whole: its exit codes, and that no traceback ever reaches a user."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tailwave import __version__
from tailwave.cli import COMMANDS, group, run
from tailwave.errors import SOFTWARE, UNAVAILABLE, UNREADABLE, USAGE, UnavailableError
from tests.places import TRACES

TRACE = TRACES / "decode_small.eager.json.gz"
INTERRUPTED = 130


def fail_with(error: BaseException, patch: pytest.MonkeyPatch) -> int:
    """Run a command that raises an error; return the exit code."""

    def fail() -> None:
        raise error

    broken = click.Command("explain", callback=fail)
    patch.setattr(type(group), "get_command", lambda _group, _ctx, _name: broken)
    return run(["explain"])


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["--nonsense"], ["diagnose"], ["diagnose", "--nonsense", "x"]]
)
def test_words_that_are_off_are_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown command or option, or a missing file, says so on stderr and exits with 64."""
    assert run(arguments) == USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: tailwave" in err


def test_of_a_word_that_is_no_command_it_is_said_what_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command near it, else that a file is for diagnose, else nothing."""
    trace = tmp_path / "trace.json"
    trace.write_text("{}", "utf-8")
    for word, meant in (
        ("diag", " Did you mean diagnose?"),
        (str(trace), f" To diagnose a recording: tailwave diagnose {trace}"),
        ("zzz", ""),
        ("x" * 5000, ""),
    ):
        assert run([word]) == USAGE
        assert capsys.readouterr().err.endswith(f"No such command '{word}'.{meant}\n")


@pytest.mark.parametrize("command", ["diagnose", "whatif", "show"])
def test_a_file_that_may_not_be_read_is_unreadable(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The words of the call are right, so it is no usage error; reading the file tells."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "x.json"
    path.write_text("{}", "utf-8")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(Path, "open", refuse)
    assert run([command, str(path)]) == UNREADABLE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "Permission denied" in err


def test_an_unknown_severity_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A value that an option does not have is refused with those that it has."""
    assert run(["diagnose", "--fail-on", "awful", "x"]) == USAGE
    assert "'info', 'minor', 'major', 'critical'" in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The version stands alone on stdout."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tailwave {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command stands in the help with its line."""
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert [name for name in COMMANDS if f"  {name} " not in out] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command explains itself."""
    assert run([command, "--help"]) == 0
    assert f"Usage: tailwave {command}" in capsys.readouterr().out


def test_our_own_fault_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bug exits with 70 and asks to be reported; the traceback stays away."""
    assert fail_with(KeyError("surprise"), monkeypatch) == SOFTWARE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tailwave: a fault of tailwave itself (KeyError: 'surprise')")
    assert len(err.splitlines()) == 1


def test_our_own_fault_can_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """With TAILWAVE_DEBUG set the traceback is there."""
    monkeypatch.setenv("TAILWAVE_DEBUG", "1")
    with pytest.raises(KeyError, match="surprise"):
        fail_with(KeyError("surprise"), monkeypatch)


def test_an_error_of_ours_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each error knows its code, and its sentence is all that is printed."""
    assert fail_with(UnavailableError("no GPU here."), monkeypatch) == UNAVAILABLE
    assert capsys.readouterr() == ("", "tailwave: no GPU here.\n")


def test_an_interruption_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C exits as shells expect, with one word on a line of its own."""
    assert fail_with(KeyboardInterrupt(), monkeypatch) == INTERRUPTED
    assert capsys.readouterr() == ("", "\ntailwave: interrupted\n")


@pytest.mark.parametrize(
    "arguments", [["diagnose", str(TRACE)], ["explain", "launch-bound"], ["--help"]]
)
def test_a_closed_pipe_is_no_error(arguments: list[str]) -> None:
    """A reader that has seen enough (head, less) ends the command quietly, with 0."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "tailwave", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["check", "--device", "sim:h200", "--only", "WSP"], "issue or banks"),
        (["check", "--device", "sim:h200", "--only", "ARB"], "fabric"),
        (["metrics", "WSP"], "bank-conflict or low-occupancy"),
        (["fix", "--cure", "graph", "--", "true"], "cuda-graph"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_word_that_is_no_name_is_answered_with_what_it_stands_for(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever command was asked, in the words that people arrive with."""
    assert run(arguments) == USAGE
    assert capsys.readouterr().err.endswith(f"Did you mean {meant}?\n")
