"""The options that ``tailwave try`` and ``tailwave fix`` have in common."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from tailwave.errors import UsageError

_ROUNDS = 6
_LEAST_ROUNDS = 3


class Options(NamedTuple):
    """How to try: which cures, what to measure, how often, and what to do with the result."""

    cure: tuple[str, ...]
    metric: str | None
    higher_is_better: bool
    rounds: int
    timeout: float | None
    as_json: bool
    save: Path | None


def _list(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's own signature
    if not wanted:
        return
    from tailwave.cures.catalogue import CURES  # noqa: PLC0415 - wanted with --list only

    width = max(len(cure.name) for cure in CURES)
    for cure in CURES:
        click.echo(f"{cure.name:<{width}}  {cure.label}")
    ctx.exit()


def _a_number(ctx: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse what float() reads and no run can be held to."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("a run needs an end.", ctx=ctx, param=parameter)
    return value


_OPTIONS = (
    click.option(
        "--cure",
        multiple=True,
        metavar="NAME[:PARAMETER]",
        help="Try this cure, whatever a diagnosis says; repeatable.",
    ),
    click.option(
        "--metric",
        metavar="REGEX",
        help="Measure by a number that the program prints: the one group of a regular expression. "
        "Without it: the steps that the program marks, else its wall time.",
    ),
    click.option("--higher-is-better", is_flag=True, help="With --metric: more of it is better."),
    click.option(
        "--rounds",
        type=click.IntRange(min=_LEAST_ROUNDS),
        default=_ROUNDS,
        show_default=True,
        metavar="N",
        help="Rounds at most; each runs the program as it is, again, and under each cure. From "
        "the third on, a trial ends as soon as each cure is decided on.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        callback=_a_number,
        metavar="SECONDS",
        help="End a run that takes longer. Without it only a cure's runs have an end: five times "
        "the slowest run without it, and two minutes.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 2)."),
    click.option(
        "--save",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Also write that document into this file.",
    ),
    click.option(
        "--list",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_list,
        help="List the cures and exit.",
    ),
)


def trial_options(function: Callable[..., int]) -> Callable[..., None]:
    """Give a command the options; it gets them as one, and exits with the code it returns."""

    @functools.wraps(function)
    @click.pass_context
    def wrapped(ctx: click.Context, /, **values: Any) -> None:  # noqa: ANN401 - click's own
        options = Options(**{name: values.pop(name) for name in Options._fields})
        if options.higher_is_better and options.metric is None:
            raise UsageError("--higher-is-better goes with --metric: of times, less is better.")
        ctx.exit(function(**values, options=options))

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
