"""A check: the probes run on a device, and each link of its scheduling chain judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec.structs import replace

from tailwave import __version__
from tailwave.errors import UnavailableError
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import DeniedError, Device, DeviceLostError, NotSupportedError
from tailwave.gpu.probes import probes_called, run_probes
from tailwave.gpu.references.make import make_reference
from tailwave.gpu.references.store import find_reference
from tailwave.gpu.verdicts.judge import judge, worst
from tailwave.model import DeviceFacts, Health, Measurement, Reference, Session, Status, Table
from tailwave.session import SCHEMA

# Called with a probe's name and None when it begins, then with each figure that it takes.
Observer: TypeAlias = Callable[[str, Measurement | None], None]

_INTERRUPTED = "It was interrupted."
_WITHOUT_REFERENCE = "Only what holds on any GPU was judged: "


def _unseen(_probe: str, _figure: Measurement | None) -> None:
    """Show nothing of the progress."""


def check(
    device: str = "cuda",
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    progress: Observer = _unseen,
) -> Session:
    """Measure how well a GPU schedules, and judge it link by link.

    ``device`` is ``cuda``, ``cuda:1``, ``sim:h200``; ``quick`` takes fewer samples; ``only`` names
    the probes to run, none for all. A device that is not there or goes in mid-run is a result and
    no error, and an interruption keeps what has been measured: ``cut_short`` of the session says
    why it ended early. Raises UsageError for a probe or a kind of device that there is not, and
    UnreadableInputError, before measuring, for a reference that is damaged.
    """
    run = _Run([probe.name for probe in probes_called(only)], progress)
    try:
        opened = open_device(device)
    except (UnavailableError, NotSupportedError, DeniedError) as error:
        run.cut_short = str(error)
        return run.session(None)
    find_reference(opened.facts)
    try:
        run.measure(opened, quick=quick)
    except DeviceLostError as error:
        run.end_early(str(error), Health.CRITICAL)
    except KeyboardInterrupt:
        run.end_early(_INTERRUPTED, Health.UNKNOWN)
    return judged(run.session(opened.facts), run.probes)


class _Run:
    """What a run has measured so far, and why it ended if that was early."""

    def __init__(self, probes: Sequence[str], progress: Observer) -> None:
        self.probes, self._progress = probes, progress
        self.cut_short = ""
        self._started, self._began = datetime.now(UTC), time.monotonic()
        self._measurements: list[Measurement] = []
        self._tables: list[Table] = []
        self._begun: list[str] = []
        self._health = Health.UNKNOWN

    def measure(self, device: Device, *, quick: bool) -> None:
        """Run the probes, keeping each result as soon as it is there."""
        with closing(device):
            for result in run_probes(device, quick=quick, only=self.probes, progress=self._begin):
                if isinstance(result, Table):
                    self._tables.append(result)
                else:
                    self._measurements.append(result)
                    self._progress(self._begun[-1], result)

    def _begin(self, probe: str) -> None:
        self._begun.append(probe)
        self._progress(probe, None)

    def end_early(self, why: str, health: Health) -> None:
        """Say of each probe that was not finished why it has no figures."""
        self.cut_short, self._health = why, health
        finished = self._begun[:-1]
        self._measurements += [
            Measurement(probe, Status.FAILED, reason=why)
            for probe in self.probes
            if probe not in finished
        ]

    def session(self, device: DeviceFacts | None) -> Session:
        """Return what was measured as a session without verdicts."""
        return Session(
            schema=SCHEMA,
            tool_version=__version__,
            command="check",
            started=self._started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._began,
            device=device,
            measurements=tuple(self._measurements),
            tables=tuple(self._tables),
            health=self._health,
            cut_short=self.cut_short,
        )


def judged(session: Session, probes: Iterable[str] = ()) -> Session:
    """Judge a session's figures by the bounds of this version and the reference found here.

    The verdicts are on the links that the probes look at; without probes named, those that measured
    something. A run that was cut short keeps the health that this gave it, or gets a worse one. A
    session without a device stays as it is. Raises UnreadableInputError for a damaged reference.
    """
    if session.device is None:
        return session
    asked = list(probes) or [m.name.partition(".")[0] for m in session.measurements]
    reference, words = find_reference(session.device)
    verdicts = judge(session.measurements, reference, asked)
    before = session.health if session.cut_short else Health.OK
    notes = tuple(note for note in session.notes if not note.startswith(_WITHOUT_REFERENCE))
    return replace(
        session,
        verdicts=verdicts,
        health=worst([before, *(verdict.health for verdict in verdicts)]),
        reference=words if reference else "",
        notes=notes if reference else (*notes, f"{_WITHOUT_REFERENCE}{words}."),
    )


def measure_reference(
    device: str,
    runs: int,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    progress: Observer = _unseen,
) -> Reference:
    """Check a device some times, and make a reference for its model of what was measured.

    Raises UnavailableError for a run that ended early, and what `check` and `make_reference` do.
    """
    sessions = []
    for _ in range(runs):
        session = check(device, quick=quick, only=only, progress=progress)
        if session.cut_short:
            raise UnavailableError(session.cut_short)
        sessions.append(session)
    return make_reference(sessions)
