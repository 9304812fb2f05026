"""Runs the probes on a device and judges what they measured."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from typing import NamedTuple

from tailwave import __version__
from tailwave.cli.check_progress import Progress
from tailwave.devices import open_device
from tailwave.devices.base import DeniedError, Device, DeviceLostError, NotSupportedError
from tailwave.errors import UnavailableError, UsageError
from tailwave.model import DeviceFacts, Health, Measurement, Reference, Session, Status, Table
from tailwave.probes import PROBES, run_probes
from tailwave.references.store import find_reference
from tailwave.session import SCHEMA
from tailwave.verdicts.health import worst
from tailwave.verdicts.judge import judge

_INTERRUPTED = "It was interrupted."


class Plan(NamedTuple):
    """What to run: on which device, which probes, how thoroughly."""

    device: str
    quick: bool
    probes: tuple[str, ...]


class _Run:
    """What a run has measured so far, and why it ended if that was early."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.started, self._began = datetime.now(UTC), time.monotonic()
        self.device: DeviceFacts | None = None
        self.reference: Reference | None = None
        self.reference_words = ""
        self.measurements: list[Measurement] = []
        self.tables: list[Table] = []
        self.begun: list[str] = []
        self.cut_short = ""
        self.health = Health.OK  # what is known before any verdict

    def session(self) -> Session:
        """Return the session, judged."""
        verdicts = judge(self.measurements, self.reference, self.plan.probes) if self.device else ()
        return Session(
            schema=SCHEMA,
            tool_version=__version__,
            command="check",
            started=self.started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._began,
            device=self.device,
            measurements=tuple(self.measurements),
            tables=tuple(self.tables),
            verdicts=verdicts,
            health=worst([self.health, *(verdict.health for verdict in verdicts)]),
            reference=self.reference_words if self.reference else "",
            cut_short=self.cut_short,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        if self.device is None or self.reference is not None:
            return ()
        return (f"Only what holds on any GPU was judged: {self.reference_words}.",)


def plan(device: str, *, quick: bool, only: tuple[str, ...]) -> Plan:
    """Plan the probes named, or all. Raises UsageError for a name that is no probe's."""
    names = [probe.name for probe in PROBES]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise UsageError(f"there is no probe {unknown[0]}; the probes are {', '.join(names)}.")
    return Plan(device, quick, tuple(name for name in names if not only or name in only))


def check(wanted: Plan) -> Session:
    """Measure and judge. A device that is not there or goes in mid-run is a result, no error.

    An interruption keeps what has been measured: the session says in ``cut_short`` that it was.
    """
    run = _Run(wanted)
    try:
        device = open_device(wanted.device)
    except (UnavailableError, NotSupportedError, DeniedError) as error:
        run.cut_short, run.health = str(error), Health.UNKNOWN
        return run.session()
    run.device = device.facts
    run.reference, run.reference_words = find_reference(device.facts)
    try:
        _measure(run, device)
    except DeviceLostError as error:
        _cut_short(run, str(error), Health.CRITICAL)
    except KeyboardInterrupt:
        _cut_short(run, _INTERRUPTED, Health.UNKNOWN)
    return run.session()


def _measure(run: _Run, device: Device) -> None:
    """Run the probes, keeping each result as soon as it is there."""
    with closing(device), Progress(run.plan.probes) as progress:

        def begin(probe: str) -> None:
            run.begun.append(probe)
            progress.begin(probe)

        for result in run_probes(
            device, quick=run.plan.quick, only=run.plan.probes, progress=begin
        ):
            if isinstance(result, Table):
                run.tables.append(result)
            else:
                run.measurements.append(result)
                progress.show(result)


def _cut_short(run: _Run, why: str, health: Health) -> None:
    """Say of each probe that was not finished why it has no figures."""
    run.cut_short, run.health = why, health
    finished = run.begun[:-1]
    run.measurements += [
        Measurement(probe, Status.FAILED, reason=why)
        for probe in run.plan.probes
        if probe not in finished
    ]
