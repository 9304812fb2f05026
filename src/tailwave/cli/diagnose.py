"""``tailwave diagnose FILE...``: what is wrong with a recording, and what fixing it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.cli.step_time import step_time_option
from tailwave.errors import UNREADABLE

if TYPE_CHECKING:
    from tailwave.model import Diagnosis

_SEVERITIES = ("info", "minor", "major", "critical")


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE...",
)
@step_time_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 2).")
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    help="Exit with 1 if a finding is at least this severe.",
)
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    *,
    step_time: list[float] | None,
    as_json: bool,
    fail_on: str | None,
) -> None:
    """Read traces and kernel profiles; say what is wrong and what fixing it is worth.

    FILE is a trace of PyTorch's profiler (.json, .json.gz), a recording of `tailwave record`
    (.tailwave), an export of nsys (.sqlite), or a folder of them; several are taken as the ranks of
    one run. Or it is a kernel profile: a report of ncu (.ncu-rep) or a page of `ncu --csv`. Given
    together, the profile's kernels are found in the trace, and what each loses is counted in the
    trace's step.
    """
    from tailwave.api import diagnose  # noqa: PLC0415 - numpy is not needed for --help
    from tailwave.cli.console import show  # noqa: PLC0415 - as above
    from tailwave.cli.reading import read_files  # noqa: PLC0415 - as above

    diagnosis = diagnose(read_files(files), step_time=step_time)
    show(diagnosis, as_json=as_json)
    if diagnosis.steps is None and not diagnosis.kernels:
        ctx.exit(UNREADABLE)
    if fail_on is not None and _at_least(diagnosis, fail_on):
        ctx.exit(1)


def _at_least(diagnosis: Diagnosis, severity: str) -> bool:
    floor = _SEVERITIES.index(severity)
    found = [finding.severity for finding in diagnosis.findings]
    if diagnosis.steps is None:  # without steps a kernel's own time is what findings are a share of
        found += [f.severity for kernel in diagnosis.kernels for f in kernel.findings]
    return any(_SEVERITIES.index(one) >= floor for one in found)
