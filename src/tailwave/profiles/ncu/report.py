"""Reads reports of Nsight Compute (``.ncu-rep``); needs ``pip install 'tailwave[ncu]'``."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from tailwave.errors import UnavailableError, UnreadableInputError
from tailwave.files import refused
from tailwave.model import Counter, KernelProfiles, RuleKind, RuleResult
from tailwave.profiles.ncu import dump
from tailwave.profiles.ncu.blocks import MAGIC, Outline, outline_of
from tailwave.profiles.ncu.numbers import base_unit
from tailwave.profiles.ncu.profile import LaunchRecord, percentage, profile_of

_LINK = re.compile(r"@(?:section|sass|source:[^:@]*):[^:@]*:([^@]*)@|@url:([^:@]*):[^@]*@")
_PIECE = 1 << 24  # bytes copied at a time
_NO_VALUE = "the report holds no value"


class DumpedRule(msgspec.Struct):
    """A rule's result as ``dump`` prints it."""

    name: str
    section: str
    kind: RuleKind
    title: str
    message: str
    speedup: float | None
    scope: str


class Line(msgspec.Struct):
    """A launch as ``dump`` prints it; ``lost`` counts what could not be read of it."""

    names: tuple[str, ...]
    is_kernel: bool
    metrics: tuple[tuple[str, str, float | str | None], ...]
    rules: tuple[DumpedRule, ...]
    nvtx: tuple[str, ...]
    lost: int


def is_report(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is a report."""
    return head.startswith(MAGIC)


def read_profiles(path: Path) -> KernelProfiles:
    """Read a report.

    Raises UnavailableError without ncu-report, UnreadableInputError when it holds no launch.
    """
    if importlib.util.find_spec("ncu_report") is None:
        raise UnavailableError(_instead(path, "needs NVIDIA's ncu-report"))
    try:
        outline = outline_of(path)
    except OSError as error:
        raise refused(path, error) from error
    lines = _whole_part(path, outline.whole) if outline and outline.cut else _dumped(path)
    kernels = [line for line in lines if line.is_kernel]
    if not kernels:
        raise UnreadableInputError(_nothing(path, outline, lines))
    return KernelProfiles(
        profiles=tuple(profile_of(_launch(line), order) for order, line in enumerate(kernels)),
        kind="ncu-report",
        path=str(path),
        notes=tuple(_notes(outline, lines, len(kernels))),
    )


def _whole_part(path: Path, size: int) -> list[Line]:
    """Dump the first bytes of a report that was cut: some versions read nothing beyond them."""
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "whole.ncu-rep"
        with path.open("rb") as file, part.open("wb") as copy:
            while size > 0 and (piece := file.read(min(size, _PIECE))):
                size -= copy.write(piece)
        return _dumped(part)


def _dumped(path: Path) -> list[Line]:
    """Have the report printed by a process apart, as far as it comes; its launches."""
    command = [sys.executable, "-P", dump.__file__, str(path.absolute())]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own file
    if done.returncode == dump.UNAVAILABLE:
        said = done.stderr.decode(errors="replace").strip()
        raise UnavailableError(_instead(path, f"needs ncu-report, which does not load ({said})"))
    dumped = done.stdout.split(b"\n")[:-1]
    lines = [msgspec.json.decode(line, type=Line) for line in dumped]
    return [line for line in lines if line.metrics]  # the others are of damaged results


def _instead(path: Path, lack: str) -> str:
    return (
        f"{path} is a report of ncu and {lack}: pip install 'tailwave[ncu]', or export it "
        f"with `ncu --import {path.name} --csv --page raw > {path.stem}.csv` and give that."
    )


def _nothing(path: Path, outline: Outline | None, lines: list[Line]) -> str:
    if outline and outline.cut:
        return f"{path} ends before its first whole kernel launch, or is damaged: profile again."
    if lines:
        return f"{path} holds results of ranges or graphs and no kernel launch: profile kernels."
    if outline and not outline.results:
        return f"{path} is a report without a kernel launch: profile again."
    return f"{path} is a damaged report, from which no kernel launch can be read: profile again."


def _notes(outline: Outline | None, lines: list[Line], kernels: int) -> list[str]:
    notes = []
    launches = f"{kernels} kernel launch{'es' if kernels > 1 else ''}"
    if outline and outline.cut:
        notes.append(f"The report ends early; the {launches} before that were read.")
    elif outline and (missing := outline.results - len(lines)) > 0:
        notes.append(f"The report is damaged; {missing} of its {outline.results} results are lost.")
    if others := len(lines) - kernels:
        notes.append(f"{others} result{'s' if others > 1 else ''} left out: ranges or graphs.")
    if lost := sum(line.lost for line in lines):
        notes.append(
            f"{lost} {'counters or rules' if lost > 1 else 'counter or rule'} left out: damaged."
        )
    return notes


def _launch(line: Line) -> LaunchRecord:
    return LaunchRecord(
        names=tuple(dict.fromkeys(line.names)),
        counters={name: _counter(unit, value) for name, unit, value in line.metrics},
        rules=tuple(_rule(rule) for rule in line.rules if rule.message),
        nvtx=line.nvtx,
    )


def _counter(unit: str, value: float | str | None) -> Counter:
    base, factor = base_unit(unit)
    if value is None:
        return Counter(None, base, _NO_VALUE)
    return Counter(value if isinstance(value, str) else value * factor, base)


def _rule(rule: DumpedRule) -> RuleResult:
    message = _LINK.sub(lambda link: link[1] or link[2], rule.message)
    return RuleResult(
        name=rule.name,
        kind=rule.kind,
        message=message,
        title=rule.title,
        section=rule.section,
        speedup=percentage(rule.speedup),
        scope=rule.scope,
    )
