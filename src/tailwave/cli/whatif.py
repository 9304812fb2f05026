"""``tailwave whatif FILE``: what a change would bring, by running the recording again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.cli.reading import read_files
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import Predictions, Source, Timeline
from tailwave.replay.forecast import Forecast, forecast
from tailwave.replay.whatif import (
    WHATIFS,
    WhatIf,
    answer,
    best_combination,
    each_alone,
    host_speed_is,
    in_order,
    sm_count_is,
)
from tailwave.timeline.prepare import prepare
from tailwave.timeline.steps import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

# The option is the what-if's name, but for the one that everybody calls by a shorter one.
_OPTION_NAMES = {"cuda-graph": "graph"}


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add one flag for each what-if."""
    for whatif in reversed(WHATIFS):
        option = _OPTION_NAMES.get(whatif.name, whatif.name)
        function = click.option(
            f"--{option}", _parameter(whatif), is_flag=True, help=f"What if {whatif.question}?"
        )(function)
    return function


def _parameter(whatif: WhatIf) -> str:
    """Python's name for a what-if's option."""
    return whatif.name.replace("-", "_")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@_with_options
@click.option("--sm-count", type=click.IntRange(min=1), help="What if the GPU had so many SMs?")
@click.option(
    "--host-speed",
    type=click.FloatRange(min=0, min_open=True),
    help="What if the host issued so many times as fast?",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the predicted timeline as a Chrome trace (Perfetto opens it).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (schema 1).")
def command(
    file: Path,
    *,
    sm_count: int | None,
    host_speed: float | None,
    trace: Path | None,
    as_json: bool,
    **flags: bool,
) -> None:
    """Predict what changes would bring, together.

    Without a change, every one is tried alone, and the best combination is looked for.
    """
    whatifs = [whatif for whatif in WHATIFS if flags[_parameter(whatif)]]
    whatifs += [sm_count_is(sm_count)] if sm_count is not None else []
    whatifs += [host_speed_is(host_speed)] if host_speed is not None else []
    if trace is not None and not whatifs:
        raise UsageError("--trace needs at least one change, such as --graph.")
    timeline, likely = _forecast(file)
    _print(_predictions(timeline, likely, whatifs), as_json=as_json)
    if trace is not None:
        _write_trace(likely, whatifs, trace)


def _forecast(file: Path) -> tuple[Timeline, Forecast]:
    """Read the slowest rank of a recording and prepare it for what-ifs."""
    timelines = [t for t in read_files((file,)) if len(t.gpu)]
    if not timelines:
        raise UnreadableInputError(f"{file} holds no GPU activity, so nothing can be replayed.")
    prepared = [(t, forecast(prepare(t).case)) for t in timelines]
    timeline, likely = max(prepared, key=lambda pair: pair[1].recorded_us)
    if not likely.sound:
        raise UnreadableInputError(
            f"replaying {file} misses its recorded steps by {likely.identity_error:.0%} "
            "(dependencies that were not recorded), so nothing can be predicted from it."
        )
    return timeline, likely


def _predictions(timeline: Timeline, likely: Forecast, whatifs: list[WhatIf]) -> Predictions:
    alone = [answer(likely, whatifs)] if whatifs else each_alone(likely)
    case = likely.case
    return Predictions(
        source=Source(timeline.path, timeline.kind, timeline.events, (timeline.rank,)),
        device=case.device,
        steps=summarise(timeline, case.steps, case.device.index),
        step_us_now=likely.now_us,
        step_us_low=likely.low_us,
        step_us_high=likely.high_us,
        answers=tuple(alone),
        combined=None if whatifs else best_combination(likely, alone),
        notes=timeline.notes,
    )


def _print(predictions: Predictions, *, as_json: bool) -> None:
    if as_json:
        from tailwave.reports.predictions_json import predictions_to_json  # noqa: PLC0415

        click.echo(predictions_to_json(predictions))
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import

    from tailwave.reports.predictions_terminal import render_predictions  # noqa: PLC0415

    render_predictions(predictions, Console(highlight=False))


def _write_trace(likely: Forecast, whatifs: list[WhatIf], path: Path) -> None:
    from tailwave.replay.engine import run  # noqa: PLC0415 - wanted with --trace only
    from tailwave.replay.predicted import predicted_timeline  # noqa: PLC0415
    from tailwave.reports.chrome import to_chrome  # noqa: PLC0415

    program, _ = likely.changed(*(whatif.change for whatif in in_order(whatifs)))
    document = to_chrome(predicted_timeline(likely.case, program, run(program)))
    try:
        path.write_bytes(document)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error
    click.echo(f"wrote {path}; open it with https://ui.perfetto.dev", err=True)
