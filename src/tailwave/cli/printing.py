"""Prints a session on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tailwave.model import Session


def print_session(session: Session, *, as_json: bool) -> None:
    """Print a session's report, or its one JSON document."""
    if as_json:
        from tailwave.reports import to_json  # noqa: PLC0415 - rich is slow to import

        click.echo(to_json(session))
        return
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.check_terminal import render_check  # noqa: PLC0415

    render_check(session, ReportConsole())
