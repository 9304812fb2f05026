"""``tailwave compare A B``: what differs between two saved sessions, worst first."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("first", type=click.Path(path_type=Path, readable=False), metavar="A")
@click.argument("second", type=click.Path(path_type=Path, readable=False), metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(first: Path, second: Path, *, as_json: bool) -> None:
    """Compare two saved sessions: what differs beyond the intervals, worst first.

    A is how it was and B how it is now: another driver, another host, another GPU.
    """
    from tailwave.api import compare  # noqa: PLC0415 - numpy is not needed for --help
    from tailwave.cli.console import show  # noqa: PLC0415 - as above

    show(compare(first, second), as_json=as_json)
