"""``tailwave try SCRIPT.py``: which cures help a Python program, each proven on it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.cli.trial_options import trial_options
from tailwave.errors import UnreadableInputError

if TYPE_CHECKING:
    from tailwave.cli.trial_options import Options


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("script", type=click.Path(path_type=Path, readable=False), metavar="SCRIPT.py")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@trial_options
def command(script: Path, arguments: tuple[str, ...], *, options: Options) -> int:
    """Try cures on a Python program, and keep those that are proven to help.

    The program runs a few times as it is and a few times under each cure. Nothing outside of its
    processes is changed, and its source stays as it is. Mark its steps with tailwave.step() for
    figures of the steps alone.
    """
    from tailwave.cli.trying import try_command  # noqa: PLC0415 - numpy is not needed for --help

    # os.path, for it answers no of a name too long, of which a Path raises
    if os.path.isdir(script):  # noqa: PTH112
        raise UnreadableInputError(
            f"{script} is a folder: name the script in it, or run a package by "
            "`tailwave fix -- python -m PACKAGE`."
        )
    if not os.path.isfile(script):  # noqa: PTH113
        raise UnreadableInputError(f"there is no file {script}: check the path.")
    return try_command((sys.executable, str(script), *arguments), options)
