"""``tailwave explain [WORD]``: what a word means, what of it is real, and the command to run."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True})  # people ask about options too
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 2).")
def command(words: tuple[str, ...], *, as_json: bool) -> None:
    """Explain a word: what it means, what of it is real, and what to run.

    WORD is a finding, a cure, a link or probe of a check, a figure, a counter, an environment
    variable, an XID, or a word from elsewhere, in English or Chinese. Without one, all are listed.
    """
    from tailwave.cli.console import show  # noqa: PLC0415 - rich is slow to import
    from tailwave.explanations import explain  # noqa: PLC0415 - numpy is slow to import

    show(explain(" ".join(words)), as_json=as_json)
