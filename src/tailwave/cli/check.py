"""``tailwave check``: how well this GPU schedules, link by link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from tailwave.cli.printing import print_session
from tailwave.errors import UsageError
from tailwave.model import Health

# The monitoring plug-ins' exit codes.
EXIT_CODES: Final = {Health.OK: 0, Health.WARNING: 1, Health.CRITICAL: 2, Health.UNKNOWN: 3}
_RUNS = 5  # for a reference: with fewer, the spread is hardly known


@click.command()
@click.option("--device", default="cuda", show_default=True, help="cuda, cuda:1, sim:h200.")
@click.option("--quick", is_flag=True, help="Fewer samples: a quarter of the time.")
@click.option("--only", multiple=True, metavar="PROBE", help="Run this probe only; repeatable.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Save the session (with --save-reference: the reference) in this file.",
)
@click.option("--save-reference", is_flag=True, help="Make a reference for this model of GPU.")
@click.option(
    "--runs",
    type=click.IntRange(min=3),
    default=_RUNS,
    show_default=True,
    metavar="N",
    help="With --save-reference: measure so many times.",
)
@click.option(
    "--from",
    "sessions",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="SESSION",
    help="With --save-reference: take this saved session instead of measuring; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
@click.pass_context
def command(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    *,
    device: str,
    quick: bool,
    only: tuple[str, ...],
    output: Path | None,
    save_reference: bool,
    runs: int,
    sessions: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Measure a GPU's scheduling health, link by link.

    Exits as monitoring plug-ins do: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
    """
    from tailwave.cli.checking import check, plan  # noqa: PLC0415 - numpy is not needed for --help

    _refuse_unwritable(output)
    wanted = plan(device, quick=quick, only=only)
    if save_reference:
        from tailwave.cli.referencing import write_reference  # noqa: PLC0415 - seldom wanted

        write_reference(wanted, runs, sessions, output)
        return
    if sessions:
        raise UsageError("--from goes with --save-reference; tailwave show renders a session.")
    session = check(wanted)
    if output is not None:
        from tailwave.session import save  # noqa: PLC0415 - wanted with -o only

        save(session, output)
    print_session(session, as_json=as_json)
    ctx.exit(EXIT_CODES[session.health])


def _refuse_unwritable(output: Path | None) -> None:
    """Refuse before a minute is spent on measuring what could then not be saved."""
    if output is not None and not os.access(output if output.exists() else output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: there is no such folder, or it is not yours.")
