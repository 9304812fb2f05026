"""Runs the probes on a device and judges what they measured."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from typing import NamedTuple

from tailwave import __version__
from tailwave.cli.check_progress import Progress
from tailwave.cli.judging import judged
from tailwave.errors import UnavailableError, UsageError
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import DeniedError, Device, DeviceLostError, NotSupportedError
from tailwave.gpu.probes import PROBES, run_probes
from tailwave.gpu.references.store import find_reference
from tailwave.model import DeviceFacts, Health, Measurement, Session, Status, Table
from tailwave.session import SCHEMA

_INTERRUPTED = "It was interrupted."


class Plan(NamedTuple):
    """What to run: on which device, which probes, how thoroughly."""

    device: str
    quick: bool
    probes: tuple[str, ...]


def plan(device: str, *, quick: bool, only: tuple[str, ...]) -> Plan:
    """Plan the probes named, or all. Raises UsageError for a name that is no probe's."""
    names = [probe.name for probe in PROBES]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise UsageError(f"there is no probe {unknown[0]}; the probes are {', '.join(names)}.")
    return Plan(device, quick, tuple(name for name in names if not only or name in only))


class _Run:
    """What a run has measured so far, and why it ended if that was early."""

    def __init__(self, wanted: Plan) -> None:
        self.wanted = wanted
        self.started, self._began = datetime.now(UTC), time.monotonic()
        self.measurements: list[Measurement] = []
        self.tables: list[Table] = []
        self.begun: list[str] = []
        self.cut_short = ""
        self.health = Health.UNKNOWN

    def end_early(self, why: str, health: Health) -> None:
        """Say of each probe that was not finished why it has no figures."""
        self.cut_short, self.health = why, health
        finished = self.begun[:-1]
        self.measurements += [
            Measurement(probe, Status.FAILED, reason=why)
            for probe in self.wanted.probes
            if probe not in finished
        ]

    def session(self, device: DeviceFacts | None) -> Session:
        """Return what was measured as a session without verdicts."""
        return Session(
            schema=SCHEMA,
            tool_version=__version__,
            command="check",
            started=self.started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._began,
            device=device,
            measurements=tuple(self.measurements),
            tables=tuple(self.tables),
            health=self.health,
            cut_short=self.cut_short,
        )


def check(wanted: Plan) -> Session:
    """Measure and judge. A device that is not there or goes in mid-run is a result, no error.

    An interruption keeps what has been measured: the session says in ``cut_short`` that it was.
    Raises UnreadableInputError, before measuring, for a reference that is damaged.
    """
    run = _Run(wanted)
    try:
        device = open_device(wanted.device)
    except (UnavailableError, NotSupportedError, DeniedError) as error:
        run.cut_short = str(error)
        return run.session(None)
    facts = device.facts
    find_reference(facts)
    try:
        _measure(run, device)
    except DeviceLostError as error:
        run.end_early(str(error), Health.CRITICAL)
    except KeyboardInterrupt:
        run.end_early(_INTERRUPTED, Health.UNKNOWN)
    return judged(run.session(facts), facts, wanted.probes)


def _measure(run: _Run, device: Device) -> None:
    """Run the probes, keeping each result as soon as it is there."""
    with closing(device), Progress(run.wanted.probes) as progress:

        def begin(probe: str) -> None:
            run.begun.append(probe)
            progress.begin(probe)

        for result in run_probes(
            device, quick=run.wanted.quick, only=run.wanted.probes, progress=begin
        ):
            if isinstance(result, Table):
                run.tables.append(result)
            else:
                run.measurements.append(result)
                progress.show(result)
