"""What cannot be tried, told before anything is run: no such cure, or no such program."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Final

from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.choose import named
from tailwave.errors import UnavailableError, UsageError

# What a shell takes apart and a program's name hardly ever holds.
_FOR_A_SHELL: Final = re.compile(r"[\s|&;<>()$`*]")
_SETS_A_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def refuse_unstartable(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse a command whose first word is no program, with what to write instead.

    Raises UsageError for words that only a shell can read, UnavailableError for all else.
    """
    word = command[0]
    if not word:
        raise UsageError("the command is empty: write tailwave fix -- COMMAND.")
    if shutil.which(word, path=environment.get("PATH")) is not None:
        return
    # A plain name is looked for on PATH alone; a path is what it is.
    if os.path.isdir(word):  # noqa: PTH112 - of any text, also one that no Path could ask for
        raise UnavailableError(f"{word} is a folder: name the program in it that is to run.")
    if os.path.isfile(word):  # noqa: PTH113
        if os.access(word, os.X_OK):
            raise UnavailableError(
                f"{word} is not on PATH: write ./{word} for the one in this folder."
            )
        raise UnavailableError(
            f"{word} is not executable: make it so (chmod +x), or name what runs it, such as "
            f"`python {word}` or `sh {word}`."
        )
    if _SETS_A_VARIABLE.match(word):
        raise UsageError(f"{word} is no program: to set a variable write `env {word} COMMAND`.")
    if _FOR_A_SHELL.search(word):
        raise UsageError(
            f"there is no program of the name {word!r}: give each word by itself, or the whole to "
            f"a shell: sh -c {shlex.quote(word)}"
        )
    raise UnavailableError(f"there is no program {word} here: check its name.")


def refuse_unknown(cures: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse what is no cure or no parameter of it.

    Raises UsageError. What depends on the program, such as the names of its streams, is not known
    before it has run.
    """
    for cure in cures:
        if cure != cure.encode(errors="replace").decode():  # the lines that keep it are text
            raise UsageError(f"--cure {cure!r} is no text in UTF-8: write it in UTF-8.")
        named(cure, Setting(environment=environment), CURES)
