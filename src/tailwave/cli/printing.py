"""Prints a session on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tailwave.model import Session


def print_session(
    session: Session, *, as_json: bool, figures: bool = False, maps: bool = False
) -> None:
    """Print a session's report, with every figure and the maps if wanted; or its JSON document."""
    if as_json:
        from tailwave.reports import to_json  # noqa: PLC0415 - rich is slow to import

        click.echo(to_json(session))
        return
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.check_terminal import render_check, render_figures  # noqa: PLC0415
    from tailwave.reports.maps import render_maps  # noqa: PLC0415

    console = ReportConsole()
    render_check(session, console)
    if figures:
        render_figures(session, console)
    if maps:
        render_maps(session, console)
