"""``tailwave show SESSION``: renders a saved session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tailwave.model import Session


@click.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False), metavar="SESSION")
@click.option("--judge", is_flag=True, help="Judge the figures anew, by the reference of now.")
@click.option("--figures", is_flag=True, help="Also list every figure that was measured.")
@click.option("--maps", is_flag=True, help="Also draw the die map and the latency matrix.")
@click.option(
    "--png",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the die map and the latency matrix as PNG files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(  # noqa: PLR0913 - one parameter an option
    file: Path, *, judge: bool, figures: bool, maps: bool, png: Path | None, as_json: bool
) -> None:
    """Render a saved session.

    SESSION is a file that `tailwave check -o FILE` wrote, also one of an older tailwave.
    """
    from tailwave.cli.console import show  # noqa: PLC0415 - rich is slow to import
    from tailwave.session import load  # noqa: PLC0415 - msgspec is not needed for --help

    session = load(file)
    if judge:
        from tailwave.gpu.check import judged  # noqa: PLC0415 - wanted with --judge only

        session = judged(session)
    show(session, as_json=as_json)
    if not as_json:
        _show_more(session, figures=figures, maps=maps)
    if png is not None:
        _save_pictures(session, png)


def _show_more(session: Session, *, figures: bool, maps: bool) -> None:
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.check_terminal import render_figures  # noqa: PLC0415
    from tailwave.reports.maps import render_maps  # noqa: PLC0415

    console = ReportConsole()
    if figures:
        render_figures(session, console)
    if maps:
        render_maps(session, console)


def _save_pictures(session: Session, folder: Path) -> None:
    from tailwave.reports.pictures import save_pictures  # noqa: PLC0415 - wanted with --png only

    written = save_pictures(session, folder)
    for path in written:
        click.echo(f"wrote {path}", err=True)
    if not written:
        click.echo("The session holds no map: topology and l2 were not measured.", err=True)
