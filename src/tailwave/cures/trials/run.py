"""One run of the program under trial: what a runner gives, and what the hook reported of it."""

from __future__ import annotations

import math
import re
import signal
from typing import Final, Literal, Protocol

import msgspec

from tailwave.cures.catalogue.base import Report, Treatment

# ECMA-48: a control sequence (colours, moves of the cursor), a string for the terminal (a title, a
# link) up to its end, or another escape of two characters.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
_LINE_ENDS: Final = re.compile(r"\r\n?")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LONGEST_LINE: Final = 300


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


class ProcessReport(msgspec.Struct, frozen=True):
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
    def processes(self) -> tuple[ProcessReport, ...]:
        """The reports as the experiment reads them; what is no report is left out."""
        found = []
        for report in self.reports:
            # A process says None of what it has nothing of: without marks there are no steps.
            said = {key: value for key, value in report.items() if value is not None}
            try:
                found.append(msgspec.convert(said, ProcessReport))
            except msgspec.ValidationError:
                continue
        return tuple(found)


class Runner(Protocol):
    """Runs the program, again and again, each time under a treatment that ends with the run."""

    def run(
        self, treatment: Treatment, *, profile: bool = False, limit_s: float | None = None
    ) -> Run:
        """Run it once, for at most ``limit_s`` seconds, recording a profile if asked to."""

    def trace(self) -> str:
        """Return the path of the profile that was recorded, "" where there is none."""


def why_failed(run: Run) -> str:
    """Say in a sentence how a run failed."""
    if run.timed_out:
        return f"it did not end within {run.limit_s:.3g} s"
    how = f"it exited with {run.code}"
    if run.code < 0:
        number = -run.code
        known = number in set(signal.Signals)
        name = signal.Signals(number).name if known else f"signal {number}"
        how = f"it was ended by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
    return f"{how}: {run.last_line}" if run.last_line else how


def finite_positive(value: float) -> bool:
    """Tell whether a figure can be compared by a ratio."""
    return math.isfinite(value) and value > 0


def plain(text: str) -> str:
    """Return a text without colours; each state that a progress bar wrote over is a line."""
    return _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))


def last_line(text: str) -> str:
    """Return the last line that is not blank, as it can be shown to a person; "" for none."""
    for line in reversed(plain(text).split("\n")):
        shown = _CONTROLS.sub("", line).strip()
        if shown:
            return shown[:_LONGEST_LINE]
    return ""
