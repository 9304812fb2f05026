"""``tailwave explain CODE``: a finding's meaning, evidence, cure and pitfalls."""

from __future__ import annotations

import inspect

import click
import msgspec

from tailwave.errors import UsageError

SCHEMA = 1


@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(code: str | None, *, as_json: bool) -> None:
    """Explain a finding: what it means, how it is found, what cures it, what fools it.

    Without CODE, list the codes.
    """
    from tailwave.profiles import KERNEL_RULES  # noqa: PLC0415 - numpy is slow to import
    from tailwave.recordings.causes import RULES  # noqa: PLC0415

    # What a recording and a kernel profile both show is explained once, by the recording's rule.
    rules = (*KERNEL_RULES, *RULES)
    known = {rule.CODE: inspect.cleandoc(rule.__doc__ or "") for rule in rules}
    order = dict.fromkeys(rule.CODE for rule in (*RULES, *KERNEL_RULES))
    explanations = {code: known[code] for code in order}
    if code is not None and code not in explanations:
        message = f"no finding is called {code!r}; there are {', '.join(explanations)}."
        raise UsageError(message)
    wanted = explanations if code is None else {code: explanations[code]}
    if as_json:
        document = {"schema": SCHEMA, "findings": [_sections(*item) for item in wanted.items()]}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
    elif code is None:
        for one, text in wanted.items():
            click.echo(f"{one:20} {text.splitlines()[0]}")
    else:
        click.echo(f"{code}: {wanted[code]}")


def _sections(code: str, text: str) -> dict[str, str]:
    """Cut an explanation at its headings: ``what_it_means``, ``how_it_is_found`` and so on."""
    claim, *blocks = text.split("\n\n")
    sections = {"code": code, "claim": claim}
    for block in blocks:
        heading, _, body = block.partition(":\n")
        sections[heading.lower().replace(" ", "_")] = " ".join(body.split())
    return sections
