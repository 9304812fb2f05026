"""``tailwave diagnose FILE...``: what is wrong with a recording, and what fixing it is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.errors import UNREADABLE

if TYPE_CHECKING:
    from tailwave.model import Diagnosis, Timeline

_SEVERITIES = ("info", "minor", "major", "critical")
# Files below this size (bytes) are read before a progress bar could be seen.
_BIG = 8 << 20


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

    timelines = _read(files)
    diagnosis = diagnose(timelines, " ".join(str(file) for file in files))
    _print(diagnosis, as_json=as_json)
    if diagnosis.steps is None:
        ctx.exit(UNREADABLE)
    if fail_on is not None and _at_least(diagnosis, fail_on):
        ctx.exit(1)


def _read(files: tuple[Path, ...]) -> list[Timeline]:
    from tailwave.readers import read  # noqa: PLC0415 - numpy is not needed for --help

    timelines: list[Timeline] = []
    for file in files:
        with _progress(file) as report:
            timelines += read(file, report)
    return timelines


@contextmanager
def _progress(file: Path) -> Iterator[Callable[[int, int], None] | None]:
    """Show on stderr how much of a big file has been read, when somebody is looking."""
    big = file.is_dir() or (file.is_file() and file.stat().st_size > _BIG)
    if not (big and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only wanted for big files
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(file.name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(diagnosis: Diagnosis, *, as_json: bool) -> None:
    if as_json:
        from tailwave.reports.json_report import to_json  # noqa: PLC0415 - one of two renderers

        click.echo(to_json(diagnosis))
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import

    from tailwave.reports.terminal import render  # noqa: PLC0415

    render(diagnosis, Console(highlight=False))


def _at_least(diagnosis: Diagnosis, severity: str) -> bool:
    floor = _SEVERITIES.index(severity)
    return any(_SEVERITIES.index(finding.severity) >= floor for finding in diagnosis.findings)
