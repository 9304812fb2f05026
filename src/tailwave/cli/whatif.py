"""``tailwave whatif FILE``: what a change would bring, by running the recording again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.cli.reading import read_files
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import Predictions, Source, Timeline
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.replay.whatif import (
    WHATIFS,
    WhatIf,
    answer,
    best_combination,
    each_alone,
    host_speed_is,
    in_order,
    sm_count_is,
)
from tailwave.recordings.timeline.prepare import Prepared, prepare
from tailwave.recordings.timeline.steps import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

# What everybody calls by a shorter name too.
_SHORT_NAMES = {"cuda-graph": ("graph",)}
# What no chip and no host is beyond; the arithmetic holds up to there.
_MOST_SMS = 1_000_000
_SLOWEST_HOST = 0.001


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add one flag for each what-if: its name, and the names of the cures that it stands for."""
    for whatif in reversed(WHATIFS):
        names = (whatif.name, *_SHORT_NAMES.get(whatif.name, ()), *whatif.cures)
        function = click.option(
            *(f"--{name}" for name in names),
            _parameter(whatif),
            is_flag=True,
            help=f"What if {whatif.question}?",
        )(function)
    return function


def _parameter(whatif: WhatIf) -> str:
    """Python's name for a what-if's option."""
    return whatif.name.replace("-", "_")


def _a_number(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """Refuse what float() reads and no range excludes: not a number."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number.", ctx=context, param=parameter)
    return value


@click.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@_with_options
@click.option(
    "--sm-count",
    type=click.IntRange(min=1, max=_MOST_SMS),
    metavar="N",
    help="What if the GPU had N SMs?",
)
@click.option(
    "--host-speed",
    type=click.FloatRange(min=_SLOWEST_HOST),
    callback=_a_number,
    metavar="X",
    help="What if the host issued X times as fast?",
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
    timelines = [timeline for timeline in read_files((file,)) if len(timeline.gpu)]
    if not timelines:
        raise UnreadableInputError(f"{file} holds no GPU activity, so nothing can be replayed.")
    prepared = max((prepare(timeline) for timeline in timelines), key=lambda one: one.case.step_us)
    likely = _forecast(prepared, file)
    if trace is not None:
        _write_trace(likely, whatifs, trace)
    source = Source(
        path=str(file),
        kind=timelines[0].kind,
        events=sum(timeline.events for timeline in timelines),
        ranks=tuple(timeline.rank for timeline in timelines),
    )
    unknown = (likely.unknown_cost,) if likely.unknown_cost else ()
    notes = (*_rank_notes(timelines, prepared), *prepared.notes, *unknown)
    _print(_predictions(source, likely, whatifs, notes), as_json=as_json)


def _forecast(prepared: Prepared, file: Path) -> Forecast:
    """Prepare a recording for what-ifs; refuse one whose predictions would mean nothing."""
    if prepared.case.step_us <= 0:
        raise UnreadableInputError(f"the usual step of {file} lasts 0 ns: nothing can be saved.")
    if not prepared.quality.gpu_is_sound:
        reasons = " ".join(prepared.quality.notes)
        raise UnreadableInputError(f"{file} is not sound enough to be replayed. {reasons}")
    likely = forecast(prepared.case)
    if not likely.sound:
        raise UnreadableInputError(
            f"replaying {file} misses its recorded steps by {likely.identity_error:.0%} "
            "(dependencies that were not recorded), so nothing can be predicted from it."
        )
    return likely


def _rank_notes(timelines: list[Timeline], shown: Prepared) -> tuple[str, ...]:
    if len(timelines) == 1:
        return timelines[0].notes
    timeline = shown.case.timeline
    note = f"{len(timelines)} ranks; replayed is the slowest, rank {timeline.rank}."
    return (note, *next(t.notes for t in timelines if t.rank == timeline.rank))


def _predictions(
    source: Source, likely: Forecast, whatifs: list[WhatIf], notes: tuple[str, ...]
) -> Predictions:
    alone = [answer(likely, whatifs)] if whatifs else each_alone(likely)
    case = likely.case
    return Predictions(
        source=source,
        device=case.device,
        steps=summarise(case.timeline, case.steps, case.device.index),
        step_us_now=likely.now_us,
        step_us_low=likely.low_us,
        step_us_high=likely.high_us,
        answers=tuple(alone),
        combined=None if whatifs else best_combination(likely, alone),
        notes=notes,
    )


def _print(predictions: Predictions, *, as_json: bool) -> None:
    if as_json:
        from tailwave.reports.predictions_json import predictions_to_json  # noqa: PLC0415

        click.echo(predictions_to_json(predictions))
        return
    from tailwave.cli.console import ReportConsole  # noqa: PLC0415 - rich is slow to import
    from tailwave.reports.predictions_terminal import render_predictions  # noqa: PLC0415

    render_predictions(predictions, ReportConsole())


def _write_trace(likely: Forecast, whatifs: list[WhatIf], path: Path) -> None:
    from tailwave.recordings.replay.engine import run  # noqa: PLC0415 - wanted with --trace only
    from tailwave.recordings.replay.predicted import predicted_timeline  # noqa: PLC0415
    from tailwave.reports.chrome import to_chrome  # noqa: PLC0415

    program, _ = likely.changed(*(whatif.change for whatif in in_order(whatifs)))
    document = to_chrome(predicted_timeline(likely.case, program, run(program)))
    try:
        path.write_bytes(document)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error
    click.echo(f"wrote {path}; open it with https://ui.perfetto.dev", err=True)
