"""``tailwave check``: how well this GPU schedules, link by link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tailwave.errors import UsageError
from tailwave.figures import counted, quantity
from tailwave.model import Health

if TYPE_CHECKING:
    from tailwave.gpu.check import Observer
    from tailwave.model import Measurement

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
    _refuse_unwritable(output)
    if save_reference:
        _save_reference(sessions, runs, output, device=device, quick=quick, only=only)
        return
    if sessions:
        raise UsageError("--from goes with --save-reference; tailwave show renders a session.")
    from tailwave.cli.console import show  # noqa: PLC0415 - rich is slow to import
    from tailwave.gpu.check import check  # noqa: PLC0415 - numpy is not needed for --help
    from tailwave.session import save  # noqa: PLC0415 - as above

    with _progress() as progress:
        session = check(device, quick=quick, only=only, progress=progress)
    if output is not None:
        save(session, output)
    show(session, as_json=as_json)
    ctx.exit(EXIT_CODES[session.health])


def _refuse_unwritable(output: Path | None) -> None:
    """Refuse before a minute is spent on measuring what could then not be saved."""
    if output is not None and not os.access(output if output.exists() else output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: there is no such folder, or it is not yours.")


def _save_reference(  # noqa: PLR0913 - as the command
    sessions: tuple[Path, ...],
    runs: int,
    output: Path | None,
    *,
    device: str,
    quick: bool,
    only: tuple[str, ...],
) -> None:
    """Make a reference of saved sessions, or of runs here and now, and say where it lies."""
    from tailwave.gpu.check import measure_reference  # noqa: PLC0415 - as above
    from tailwave.gpu.references.make import make_reference  # noqa: PLC0415
    from tailwave.gpu.references.store import save_reference  # noqa: PLC0415
    from tailwave.session import load  # noqa: PLC0415

    if sessions:
        made = make_reference([load(path) for path in sessions])
    else:
        with _progress() as progress:
            made = measure_reference(device, runs, quick=quick, only=only, progress=progress)
    path = save_reference(made, output)
    figures = counted(len(made.figures), "figure")
    click.echo(f"wrote {path}: {figures} of {made.device}, {made.runs} runs", err=True)


@contextmanager
def _progress() -> Iterator[Observer]:
    """Show on a terminal's stderr which probe runs, and each headline figure as it is taken."""
    from tailwave.cli.bar import Bar  # noqa: PLC0415 - rich is slow to import
    from tailwave.gpu.probes import PROBES  # noqa: PLC0415 - as above

    names = [probe.name for probe in PROBES]
    with Bar(total=len(names), words="{task.description:<13}") as bar:

        def show(probe: str, figure: Measurement | None) -> None:
            if figure is None:
                bar.update(probe, names.index(probe))
            elif figure.headline and bar.is_seen:
                value = "-" if figure.value is None else quantity(figure.value, figure.unit)
                simulated = " (simulated)" if figure.simulated else ""
                bar.console.print(f"  {figure.name:<32} {value}{simulated}", soft_wrap=True)

        yield show
