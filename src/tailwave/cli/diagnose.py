"""``tailwave diagnose FILE...``: what is wrong with a recording, and what fixing it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.cli.reading import read_files
from tailwave.errors import UNREADABLE

if TYPE_CHECKING:
    from tailwave.model import Diagnosis

_SEVERITIES = ("info", "minor", "major", "critical")


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    help="Exit with 1 if a finding is at least this severe.",
)
@click.pass_context
def command(
    ctx: click.Context, files: tuple[Path, ...], *, as_json: bool, fail_on: str | None
) -> None:
    """Read traces and say what is wrong and what fixing it is worth.

    FILE is a PyTorch profiler trace (.json, .json.gz) or a folder of them; several files are
    taken as the ranks of one run.
    """
    from tailwave.rules.diagnose import diagnose  # noqa: PLC0415 - numpy is not needed for --help

    timelines = read_files(files)
    diagnosis = diagnose(timelines, " ".join(str(file) for file in files))
    _print(diagnosis, as_json=as_json)
    if diagnosis.steps is None:
        ctx.exit(UNREADABLE)
    if fail_on is not None and _at_least(diagnosis, fail_on):
        ctx.exit(1)


def _print(diagnosis: Diagnosis, *, as_json: bool) -> None:
    if as_json:
        from tailwave.reports.json_report import to_json  # noqa: PLC0415 - one of two renderers

        click.echo(to_json(diagnosis))
        return
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.terminal import render  # noqa: PLC0415

    render(diagnosis, ReportConsole())


def _at_least(diagnosis: Diagnosis, severity: str) -> bool:
    floor = _SEVERITIES.index(severity)
    return any(_SEVERITIES.index(finding.severity) >= floor for finding in diagnosis.findings)
