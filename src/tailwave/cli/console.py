"""Prints what a command found on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console

from tailwave.reports import render, to_json

if TYPE_CHECKING:
    from tailwave.model import Printable


class ReportConsole(Console):
    """Standard output without automatic colouring of what the reports print."""

    def __init__(self) -> None:
        """Print on standard output as it is: terminal, pipe or file."""
        super().__init__(highlight=False)

    def on_broken_pipe(self) -> NoReturn:
        """Let the command line deal with a reader that has seen enough; rich would exit with 1."""
        raise BrokenPipeError


def show(noun: Printable, *, as_json: bool) -> None:
    """Print the report of a noun, or its one JSON document."""
    if as_json:
        click.echo(to_json(noun))
    else:
        render(noun, ReportConsole())
