"""``tailwave whatif FILE``: what a change would bring, by running the recording again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.api import names_of, whatif
from tailwave.cli.console import show
from tailwave.cli.reading import read_files
from tailwave.cli.step_time import step_time_option
from tailwave.recordings.replay.whatif import WHATIFS, WhatIf

if TYPE_CHECKING:
    from collections.abc import Callable


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add one flag for each what-if: its name, and the names of the cures that it stands for."""
    for one in reversed(WHATIFS):
        function = click.option(
            *(f"--{name}" for name in names_of(one)),
            _parameter(one),
            is_flag=True,
            help=f"What if {one.question}?",
        )(function)
    return function


def _parameter(whatif: WhatIf) -> str:
    """Python's name for a what-if's option."""
    return whatif.name.replace("-", "_")


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, readable=False),
    metavar="FILE...",
)
@_with_options
@click.option(
    "--sm-count",
    type=int,
    metavar="N",
    help="What if the GPU had N SMs?",
)
@click.option(
    "--host-speed",
    type=float,
    metavar="X",
    help="What if the host issued X times as fast?",
)
@step_time_option
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the predicted timeline as a Chrome trace, which Perfetto opens (.json, .json.gz).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 2).")
def command(  # noqa: PLR0913 - the options
    files: tuple[Path, ...],
    *,
    sm_count: int | None,
    host_speed: float | None,
    step_time: list[float] | None,
    trace: Path | None,
    as_json: bool,
    **flags: bool,
) -> None:
    """Predict what changes to a recorded program would bring, together.

    FILE is a recording as `tailwave diagnose` takes it; of several ranks the slowest is run again.
    Without a change, every one is tried alone, and the best combination is looked for.
    """
    found = whatif(
        read_files(files),
        *(one.name for one in WHATIFS if flags[_parameter(one)]),
        sm_count=sm_count,
        host_speed=host_speed,
        trace=trace,
        step_time=step_time,
    )
    if trace is not None:
        click.echo(f"wrote {trace}; open it with https://ui.perfetto.dev", err=True)
    show(found, as_json=as_json)
