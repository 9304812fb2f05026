"""The console that reports are printed on."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class ReportConsole(Console):
    """Standard output without automatic colouring of what the reports print."""

    def __init__(self) -> None:
        """Print on standard output as it is: terminal, pipe or file."""
        super().__init__(highlight=False)

    def on_broken_pipe(self) -> NoReturn:
        """Let the command line deal with a reader that has seen enough; rich would exit with 1."""
        raise BrokenPipeError
