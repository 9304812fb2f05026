"""``tailwave diagnose FILE...``: what is wrong with a recording, and what fixing it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tailwave.cli.reading import read_inputs
from tailwave.errors import UNREADABLE

if TYPE_CHECKING:
    from tailwave.model import Diagnosis, KernelProfiles, Timeline

_SEVERITIES = ("info", "minor", "major", "critical")


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE...",
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
    """Read traces and kernel profiles; say what is wrong and what fixing it is worth.

    FILE is a trace of PyTorch's profiler (.json, .json.gz), a recording of `tailwave record`
    (.tailwave), an export of nsys (.sqlite), or a folder of them; several are taken as the ranks of
    one run. Or it is a kernel profile: a report of ncu (.ncu-rep) or a page of `ncu --csv`. Given
    together, the profile's kernels are found in the trace, and what each loses is counted in the
    trace's step.
    """
    timelines, profiles = read_inputs(files)
    diagnosis = _diagnosis(timelines, profiles, " ".join(str(file) for file in files))
    _print(diagnosis, as_json=as_json)
    if diagnosis.steps is None and not diagnosis.kernels:
        ctx.exit(UNREADABLE)
    if fail_on is not None and _at_least(diagnosis, fail_on):
        ctx.exit(1)


def _diagnosis(timelines: list[Timeline], profiles: list[KernelProfiles], path: str) -> Diagnosis:
    """Diagnose a recording, kernel profiles, or both together."""
    from tailwave.recordings.causes.diagnose import diagnose  # noqa: PLC0415 - numpy is not needed for --help

    if not profiles:
        return diagnose(timelines, path)
    from tailwave.profiles import Join, diagnose_profiles  # noqa: PLC0415 - only for profiles

    alone = diagnose_profiles(profiles, path)
    if not timelines:
        return alone
    together = diagnose(timelines, path, Join(alone.kernels))
    return replace(
        together,
        kernels=together.kernels
        or alone.kernels,  # a recording without steps has no place for them
        notes=(*together.notes, *alone.notes),
    )


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
    found = [finding.severity for finding in diagnosis.findings]
    if diagnosis.steps is None:  # without steps a kernel's own time is what findings are a share of
        found += [f.severity for kernel in diagnosis.kernels for f in kernel.findings]
    return any(_SEVERITIES.index(one) >= floor for one in found)
