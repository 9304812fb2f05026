"""``tailwave explain CODE``: a finding's meaning, evidence, cure and pitfalls."""

from __future__ import annotations

import inspect

import click

from tailwave.errors import UsageError


@click.command()
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a finding: what it means, how it is found, what cures it, what fools it.

    Without CODE, list the codes.
    """
    from tailwave.rules import RULES  # noqa: PLC0415 - numpy is not needed for --help

    explanations = {rule.CODE: inspect.cleandoc(rule.__doc__ or "") for rule in RULES}
    if code is None:
        for known, text in explanations.items():
            click.echo(f"{known:20} {text.splitlines()[0]}")
        return
    if code not in explanations:
        message = f"no finding is called {code!r}; there are {', '.join(explanations)}."
        raise UsageError(message)
    click.echo(f"{code}: {explanations[code]}")
