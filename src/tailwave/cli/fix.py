"""``tailwave fix -- COMMAND``: which cures help a program, each proven on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tailwave.cli.trial_options import trial_options

if TYPE_CHECKING:
    from tailwave.cli.trial_options import Options


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@trial_options
def command(words: tuple[str, ...], *, options: Options) -> int:
    """Try cures on any program, and keep those that are proven to help.

    COMMAND runs a few times as it is and a few times under each cure. Nothing outside of its
    processes is changed. Cures inside the program need one in Python that uses torch.
    """
    from tailwave.cli.trying import try_command  # noqa: PLC0415 - numpy is not needed for --help

    return try_command(words, options)
