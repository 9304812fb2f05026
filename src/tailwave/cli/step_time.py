"""``--step-time 25.7ms``: how long a step takes without the profiler, as somebody measured it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import click

_UNITS: Final = {"us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6}
_TIME: Final = re.compile(rf"(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})")


def _in_microseconds(
    ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> list[float] | None:
    """Read all times: the option may be repeated, and hold several."""
    times = []
    for word in ",".join(given).split(",") if given else ():
        found = _TIME.fullmatch(word.strip())
        if found is None:
            raise click.BadParameter(
                f"{word!r} is no time: write 25.7ms (us, ms or s), and one for each rank.",
                ctx=ctx,
                param=parameter,
            )
        times.append(float(found[1]) * _UNITS[found[2]])
    return times or None


def step_time_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option; it gets ``step_time`` in microseconds, as the library takes it."""
    return click.option(
        "--step-time",
        multiple=True,
        callback=_in_microseconds,
        metavar="TIME[,TIME...]",
        help="How long a step takes without the profiler, where you have measured it: 25.7ms (us, "
        "ms, s); for several ranks one, or one for each. Gains count from it.",
    )(function)
