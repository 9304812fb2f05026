"""``tailwave explain [WORD]``: what a word means, what of it is real, and the command to run."""

from __future__ import annotations

import click
import msgspec


@click.command(context_settings={"ignore_unknown_options": True})  # people ask about options too
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 2).")
def command(words: tuple[str, ...], *, as_json: bool) -> None:
    """Explain a word: what it means, what of it is real, and what to run.

    WORD is a finding, a cure, a link or probe of a check, a figure, a counter, an environment
    variable, an XID, or a word from elsewhere, in English or Chinese. Without one, all are listed.
    """
    from tailwave.explanations import explain  # noqa: PLC0415 - numpy is slow to import

    explanation = explain(" ".join(words))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(explanation.to_dict()), indent=2))
    else:
        click.echo(explanation)
