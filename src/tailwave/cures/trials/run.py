"""One run of the program under trial: what a runner gives, and what the hook reported of it."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable
from typing import Any, Literal, Protocol

import msgspec

from tailwave.cures.catalogue.base import Report, Treatment


class Steps(msgspec.Struct, frozen=True):
    """The steps that a process marked, in microseconds, and the clock that told them."""

    clock: str = "host"  # or "gpu": CUDA events
    us: tuple[float, ...] = ()


class Output(msgspec.Struct, frozen=True):
    """A value that a process exposed: how often, its shape, a hash of all and some of its parts.

    ``dtype`` is the type of its numbers ("bfloat16"; "int" for Python's own that all are whole, ""
    for its others). What JSON has no number for is a word: "nan", "inf", "-inf".
    """

    count: int = 1
    values: tuple[float | Literal["nan", "inf", "-inf"], ...] = ()
    shape: tuple[int, ...] = ()
    dtype: str = ""
    sha256: str = ""


class Told(msgspec.Struct, frozen=True):
    """What the experiment itself reads of a process's report; cures read the rest."""

    pid: int = 0
    main: bool = False
    steps: Steps = msgspec.field(default_factory=Steps)
    outputs: dict[str, Output] = msgspec.field(default_factory=dict)
    streams: tuple[str, ...] = ()
    error: str = ""


class Run(msgspec.Struct, frozen=True):
    """One run, ended: the exit code (negative: the signal that ended it) and what it left.

    ``output`` is what it printed (the last of it, where that is much), ``last_line`` the last line
    on standard error, or else on standard output. ``timed_out`` says that it was ended after
    ``limit_s`` seconds. ``reports`` holds each process's own report.
    """

    code: int
    seconds: float
    output: str = ""
    last_line: str = ""
    timed_out: bool = False
    limit_s: float | None = None
    reports: tuple[Report, ...] = ()

    @property
    def failed(self) -> bool:
        """Tell whether the program did not end as it should."""
        return self.timed_out or self.code != 0

    @property
    def told(self) -> tuple[Told, ...]:
        """The reports as the experiment reads them; what is no report is left out."""
        return tuple(_told(self.reports))


class Runner(Protocol):
    """Runs the program, again and again, each time under a treatment that ends with the run."""

    def run(
        self, treatment: Treatment, *, profile: bool = False, limit_s: float | None = None
    ) -> Run:
        """Run it once, for at most ``limit_s`` seconds, recording a profile if asked to."""

    def trace(self) -> str:
        """Return the path of the profile that was recorded, "" where there is none."""


def _told(reports: Iterable[Report]) -> Iterable[Told]:
    for report in reports:
        try:
            yield msgspec.convert(_without_none(report), Told)
        except msgspec.ValidationError:
            continue


def _without_none(report: Report) -> dict[str, Any]:
    """Leave out what a process says nothing of: a process without marks has no steps."""
    return {key: value for key, value in report.items() if value is not None}


def why_failed(run: Run) -> str:
    """Say in a sentence how a run failed."""
    if run.timed_out:
        return f"it did not end within {run.limit_s:.3g} s"
    how = _ended_by(-run.code) if run.code < 0 else f"it exited with {run.code}"
    return f"{how}: {run.last_line}" if run.last_line else how


def _ended_by(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:  # one of those without a name
        name = f"signal {number}"
    hint = " (out of memory?)" if number == signal.SIGKILL else ""
    return f"it was ended by {name}{hint}"


def finite_positive(value: float) -> bool:
    """Tell whether a figure can be compared by a ratio."""
    return math.isfinite(value) and value > 0
