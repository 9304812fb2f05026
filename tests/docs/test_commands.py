"""Every command of the pages is run, or stands here with the reason why it cannot be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tailwave.cli import run
from tailwave.errors import UNAVAILABLE, UNREADABLE
from tests.docs.conftest import SCRIPTS
from tests.docs.pages import Command, commands
from tests.places import ROOT

# Programs of others, which are not here, and whether their pages are right tailwave cannot tell;
# tests/docs/test_recipes.py holds what the recipes say of them against what they cite.
FOREIGN = {
    "nsys": "NVIDIA's Nsight Systems",
    "ncu": "NVIDIA's Nsight Compute",
    "nvidia-cuda-mps-control": "NVIDIA's driver",
    "trtllm-serve": "TensorRT-LLM",
    "vllm": "vLLM",
    "foldseek": "Foldseek",
    "ollama": "Ollama",
    "curl": "a call of a running server",
    "tee": "the system's own",
    "torchrun": "PyTorch",
    "git": "fetches the source",
    "sudo": "changes the machine",
    "cd": "the shell's own",
    "ln": "the system's own",
    "printf": "the shell's own",
    "export": "the shell's own",
    "eval": "the shell's own",
    "source": "the shell's own",
}
# How a command ends in a folder that has every file, on a machine with a GPU or without.
# `try` and `fix` end with the first run of their program, which fails, or where there is no GPU;
# by then all their words have been looked at. `record` passes the program's exit code on.
ENDS = {
    "check": (0, 1, 2, 3, UNAVAILABLE),
    "try": (UNREADABLE, UNAVAILABLE),
    "fix": (UNREADABLE, UNAVAILABLE),
    "record": (1,),
}
ALL = commands()
ASSIGNMENT = re.compile(r"\w+=.*")


def program(command: Command) -> tuple[str, ...]:
    """Leave out the variables that stand before a program."""
    words = list(command.words)
    while words and ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    return tuple(words)


def calls(name: str) -> list[Command]:
    """Return the calls of one program, each once."""
    found = {program(command): command for command in ALL if program(command)[:1] == (name,)}
    return list(found.values())


def is_slow(command: Command) -> bool:
    """Tell whether a command measures a whole simulated GPU, or loads a library of plots."""
    return "sim:h200" in command.words or "--png" in command.words


OURS = [
    pytest.param(
        command,
        id=f"{command.where} {' '.join(command.words)}"[:120],
        marks=pytest.mark.slow if is_slow(command) else (),
    )
    for command in calls("tailwave")
    if not any(ASSIGNMENT.fullmatch(word) for word in command.words[:1])
]


def ends(words: tuple[str, ...]) -> tuple[int, ...]:
    """Return the exit codes with which a command may end."""
    if "--fail-on" in words:
        return (1,)
    return (0,) if "--list" in words else ENDS.get(words[1], (0,))


@pytest.mark.parametrize("command", OURS)
def test_tailwave_takes_the_command(
    command: Command, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does what the page says; where a transcript shows what is printed, it is just that."""
    words = [word.replace("/tmp/", f"{place}/") for word in command.words[1:]]  # noqa: S108 - theirs
    code = run(words)
    out, err = capsys.readouterr()
    assert code in ends(command.words), err
    assert "there is no program" not in err
    if command.shown is not None:
        shown, more, _ = command.shown.partition("...\n")
        assert (out[: len(shown)] if more else out) == shown


def test_every_command_is_run_or_explained() -> None:
    """A new program in a page is put on the list above, or tested below."""
    known = {*FOREIGN, "tailwave", "make", "pip", "python"}
    unknown = {f"{c.where} {c.words[0]}" for c in ALL if {*program(c)[:1]} - known}
    assert unknown == set()


@pytest.mark.parametrize("command", calls("make"), ids=lambda command: " ".join(command.words))
def test_make_has_the_target(command: Command) -> None:
    """Each word after make is a target."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(command.words[1:]) <= {*targets}


@pytest.mark.parametrize("command", calls("pip"), ids=lambda command: " ".join(command.words))
def test_pip_installs_what_there_is(command: Command) -> None:
    """An extra of tailwave exists; what else is installed is PyTorch, or listed in a file here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for word in command.words[2:]:
        if found := re.fullmatch(r"(?:\.|tailwave)(?:\[(\w+)\])?", word):
            assert found[1] is None or found[1] in project["optional-dependencies"]
        else:
            assert (
                word in ("-r", "torch", "git+https://github.com/OWNER/tailwave")
                or (ROOT / "integrations/comfyui").joinpath(*Path(word).parts[1:]).is_file()
            )


@pytest.mark.parametrize("command", calls("python"), ids=lambda command: " ".join(command.words))
def test_python_runs_what_there_is(command: Command) -> None:
    """A script of the repository, which has these options; or a program of the reader's own."""
    script, *words = program(command)[1:]
    if script in ("-m", "-c", "main.py", *SCRIPTS):  # theirs
        return
    text = (ROOT / script).read_text("utf-8")
    assert [word for word in words if word.startswith("--") and f'"{word}"' not in text] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete(shell: str) -> None:
    """The line of each shell makes its completion."""
    assert f"_TAILWAVE_COMPLETE={shell}_source tailwave" in (ROOT / "docs/scripts.md").read_text()
    made = subprocess.run(
        [sys.executable, "-m", "tailwave"],
        env={"PATH": os.environ["PATH"], "_TAILWAVE_COMPLETE": f"{shell}_source"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert "_tailwave_completion" in made.stdout
