"""Makes a reference from several sessions of one model of GPU."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final, TypeAlias

from tailwave.errors import UsageError
from tailwave.gpu.headlines import HOST_SPEED, RESOLUTION, headline
from tailwave.model import (
    DeviceFacts,
    FigureKey,
    Measurement,
    Reference,
    ReferenceFigure,
    Session,
    Status,
)

SCHEMA: Final = 1
# A spread takes at least two runs, and one of two cannot tell which of them was the odd one out.
LEAST_RUNS: Final = 3

_Run: TypeAlias = dict[FigureKey, Measurement]


def make_reference(sessions: Sequence[Session]) -> Reference:
    """Gather the headline figures that all the sessions have, and the speed of their host.

    Raises UsageError when they are too few, were cut short, or come from different models.
    """
    device = _common_device(sessions)
    if len(sessions) < LEAST_RUNS:
        raise UsageError(
            f"a reference needs at least {LEAST_RUNS} runs to know their spread; "
            f"these are {len(sessions)}."
        )
    if any(session.cut_short for session in sessions):
        raise UsageError("a run that was cut short cannot be part of a reference.")
    return Reference(
        schema=SCHEMA,
        device=device.name,
        sm_count=device.sm_count,
        simulated=device.simulated,
        runs=len(sessions),
        drivers=tuple(sorted({s.device.driver for s in sessions if s.device and s.device.driver})),
        started=tuple(sorted(session.started for session in sessions)),
        figures=_figures(sessions),
    )


def _common_device(sessions: Sequence[Session]) -> DeviceFacts:
    devices = [session.device for session in sessions if session.device is not None]
    if not devices or len(devices) < len(sessions):
        raise UsageError("a reference needs sessions that measured a device.")
    models = {(device.name, device.sm_count, device.simulated) for device in devices}
    if len(models) > 1:
        names = ", ".join(sorted(f"{name} with {count} SMs" for name, count, _ in models))
        raise UsageError(f"a reference is of one model; these sessions are of {names}.")
    return devices[0]


def _figures(sessions: Sequence[Session]) -> tuple[ReferenceFigure, ...]:
    """Return the figures in the order of the first session.

    Those that the host has its part in come from the runs on a host of one speed; where these are
    too few, they are left out.
    """
    runs = [{m.key: m for m in session.measurements if _counts(m)} for session in sessions]
    of_one_speed = _of_one_speed(runs)
    figures = []
    for key, first in runs[0].items():
        chosen = of_one_speed if _is_the_hosts(first.name) else runs
        if len(chosen) >= LEAST_RUNS and all(key in run for run in chosen):
            figures.append(_figure([run[key] for run in chosen]))
    return tuple(figures)


def _of_one_speed(runs: Sequence[_Run]) -> list[_Run]:
    """Return the runs whose host was as fast as that of the middle run."""
    speeds = [_speed(run) for run in runs]
    known = [speed for speed in speeds if speed is not None]
    if not known:
        return []
    middle = statistics.median_low(known)
    return [
        run
        for run, speed in zip(runs, speeds, strict=True)
        if speed is not None and abs(speed - middle) <= RESOLUTION * middle
    ]


def _speed(run: _Run) -> float | None:
    return next((m.value for m in run.values() if m.name == HOST_SPEED), None)


def _is_the_hosts(name: str) -> bool:
    return name == HOST_SPEED or headline(name).host


def _counts(measurement: Measurement) -> bool:
    """Tell whether a figure belongs in a reference; one that is not OK never does."""
    wanted = measurement.headline or measurement.name == HOST_SPEED
    return wanted and measurement.status is Status.OK


def _figure(measurements: Sequence[Measurement]) -> ReferenceFigure:
    first = measurements[0]
    values = tuple(m.value for m in measurements if m.value is not None)
    return ReferenceFigure(
        name=first.name,
        unit=first.unit,
        values=values,
        low=min([m.low for m in measurements if m.low is not None] or values),
        high=max([m.high for m in measurements if m.high is not None] or values),
        parameters=first.parameters,
    )
