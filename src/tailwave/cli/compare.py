"""``tailwave compare OLD NEW``: what differs between two recordings, or two saved sessions."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("old", type=click.Path(path_type=Path, readable=False), metavar="OLD")
@click.argument("new", type=click.Path(path_type=Path, readable=False), metavar="NEW")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(old: Path, new: Path, *, as_json: bool) -> None:
    """Compare two recordings of the same work, or two sessions of `tailwave check`.

    OLD is how it was and NEW how it is now: another driver, another version, another GPU. Of
    recordings (as `tailwave diagnose` reads them; a folder is the ranks of one run, of which the
    slowest is compared) the difference of the step is divided by cause. Of sessions every figure
    that differs beyond its interval is shown, worst first.
    """
    from tailwave.api import compare  # noqa: PLC0415 - numpy is not needed for --help
    from tailwave.cli.console import show  # noqa: PLC0415 - as above

    show(compare(old, new), as_json=as_json)
