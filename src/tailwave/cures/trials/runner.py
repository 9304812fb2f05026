"""Runs the program as real processes: own session and environment, nothing left behind."""

from __future__ import annotations

import errno
import os
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Thread
from typing import IO, Final

import msgspec

from tailwave.cures.catalogue.base import Report, Treatment
from tailwave.cures.hook import hooked
from tailwave.cures.trials import mps, supervisor
from tailwave.cures.trials.run import Run, last_line
from tailwave.errors import UnavailableError

_KEPT_BYTES = 4 << 20  # of each of the program's two outputs: the last of it
_CHUNK_BYTES = 1 << 16
# By which the hook knows a program's processes apart; a trial inside a trial starts afresh.
_HOOKS_OWN: Final = "TAILWAVE_TRIAL_ROOT"
# The command itself was found before anything was run.
_IN_WORDS: Final = {
    os.strerror(errno.ENOENT): "the interpreter that its first line names is not there",
    os.strerror(errno.ENOEXEC): "it is no program, and no first line says what runs it (#!/bin/sh)",
}
_DRAIN_S = 10.0  # for what holds an output open; a supervisor's own grace is shorter
# Enough steps for a diagnosis, after the first ones, which warm up; and what a program without
# marks gives in the same time.
_PROFILE: Final = {"after_steps": 10, "steps": 5, "after_seconds": 3.0, "seconds": 2.0}


class _Result(msgspec.Struct, frozen=True):
    """What the supervisor writes."""

    code: int = 0
    seconds: float = 0.0
    error: str = ""


class _Capture(Thread):
    """Drains one of the program's outputs, and keeps the last of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._chunks: deque[bytes] = deque()
        self._size, self._cut = 0, False
        self.start()

    def run(self) -> None:
        """Read until all that hold the other end have ended."""
        while chunk := os.read(self._pipe.fileno(), _CHUNK_BYTES):
            self._chunks.append(chunk)
            self._size += len(chunk)
            while self._size > _KEPT_BYTES:
                self._size -= len(self._chunks.popleft())
                self._cut = True

    def text(self) -> str:
        """Return what was kept, once the program has ended."""
        self.join(_DRAIN_S)
        if not self.is_alive():  # else its supervisor was killed, and a descendant lives on
            self._pipe.close()
        kept = b"".join(tuple(self._chunks))
        if self._cut:  # half a line may hold half a number
            kept = kept.partition(b"\n")[2] or kept
        return kept.decode(errors="replace")


class ProcessRunner:
    """Runs one command; all that a treatment sets is given to the child alone."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        """Run the command with this environment; files in folder."""
        self._command, self._folder = tuple(command), folder
        self._environment = {k: v for k, v in environment.items() if k != _HOOKS_OWN}
        self._runs = 0
        self._trace = ""

    def run(
        self, treatment: Treatment, *, profile: bool = False, limit_s: float | None = None
    ) -> Run:
        """Run it once. Raises UnavailableError when the command or MPS cannot be started."""
        try:
            return self._run(treatment, limit_s, profile=profile)
        except OSError as error:
            raise UnavailableError(
                f"cannot write under {self._folder.parent} ({error.strerror}): make room there, or "
                "name another folder by TMPDIR."
            ) from error

    def _run(self, treatment: Treatment, limit_s: float | None, *, profile: bool) -> Run:
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        folder.mkdir()
        trace = folder / "trace.json"
        plan = {
            "report": str(folder / "report"),
            "tasks": [task._asdict() for task in treatment.tasks],
            "profile": {"trace": str(trace), **_PROFILE} if profile else None,
        }
        (folder / "plan.json").write_bytes(msgspec.json.encode(plan))
        environment = self._changed(treatment, folder / "plan.json")
        under_mps: AbstractContextManager[Mapping[str, str]] = nullcontext({})
        if treatment.mps_percent is not None:
            under_mps = mps.daemon(environment, folder, treatment.mps_percent)
        with under_mps as added:
            run = self._supervised(folder, {**environment, **added}, limit_s)
        if profile:
            self._trace = str(trace) if trace.is_file() else ""
        return run

    def trace(self) -> str:
        """Return the path of the profile that was recorded, "" where there is none."""
        return self._trace

    def _changed(self, treatment: Treatment, plan: Path) -> dict[str, str]:
        environment = dict(self._environment)
        for name, value in treatment.environment.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        return hooked(environment, plan)

    def _supervised(self, folder: Path, environment: dict[str, str], limit_s: float | None) -> Run:
        result = folder / "result.json"
        process = supervisor.start(self._command, environment, result, subprocess.PIPE)
        assert process.stdout is not None  # noqa: S101 - as asked for above
        assert process.stderr is not None  # noqa: S101
        captured = _Capture(process.stdout), _Capture(process.stderr)
        timed_out = False
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            supervisor.end(process)
        out, err = (capture.text() for capture in captured)
        ended = _read_result(result, self._command[0])
        return Run(
            code=ended.code,
            seconds=ended.seconds,
            output=f"{out}\n{err}",
            last_line=last_line(err) or last_line(out),
            timed_out=timed_out,
            limit_s=limit_s,
            reports=_reports(folder),
        )


def _read_result(path: Path, command: str) -> _Result:
    try:
        result = msgspec.json.decode(path.read_bytes(), type=_Result)
    except (OSError, msgspec.DecodeError) as error:
        raise UnavailableError(
            f"the run of {command} was lost, for it left no result: was its supervisor killed "
            f"(out of memory?), or is the disk of {path.parent} full?"
        ) from error
    if result.error:
        why = _IN_WORDS.get(result.error, result.error)
        raise UnavailableError(f"cannot run {command}: {why}.")
    return result


def _reports(folder: Path) -> tuple[Report, ...]:
    """Read what each process reported; a report that a killed process left torn is no report."""
    found: list[Report] = []
    for path in sorted(folder.glob("report-*.json")):
        try:
            report = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError):
            continue
        if isinstance(report, dict):
            found.append(report)
    return tuple(found)
