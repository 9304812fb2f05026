"""Runs small programs under a plan, as a trial does, and reads their reports."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import tailwave
from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.base import CureInProgram

if TYPE_CHECKING:
    import pytest

PACKAGE = Path(tailwave.__file__).parent
INJECT = PACKAGE / "cures" / "hook" / "inject"
# The class of each cure's action, as a plan names it.
ACTIONS = {
    cure.name: f"{cure.action.__module__}:{cure.action.__name__}"
    for cure in CURES
    if isinstance(cure, CureInProgram)
}
FAKE_TORCH = Path(__file__).with_name("fake_torch")


def loaded() -> list[str]:
    """The modules of torch, be it the fake, that this process has loaded."""
    return [name for name in sys.modules if name.partition(".")[0] == "torch"]


def fake_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Make the fake, new for each test, the torch of this very process."""
    for name in loaded():
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(FAKE_TORCH)
    yield importlib.import_module("torch")
    for name in loaded():
        del sys.modules[name]


class Ran(NamedTuple):
    """A program that has ended."""

    code: int
    out: str
    err: str
    reports: list[dict[str, Any]]

    @property
    def report(self) -> dict[str, Any]:
        """The only report."""
        (report,) = self.reports
        return report


class Trial(NamedTuple):
    """A folder with a plan, and the environment of a program that follows it."""

    folder: Path
    environment: dict[str, str]

    def command(self, source: str, python: str = sys.executable) -> list[str]:
        """Write a program down; return the command that runs it."""
        script = self.folder / "program.py"
        script.write_text(source, "utf-8")
        return [python, str(script)]

    def run(self, source: str, python: str = sys.executable) -> Ran:
        """Run a program to its end."""
        command = self.command(source, python)
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr, self.reports())

    def reports(self) -> list[dict[str, Any]]:
        """Return the reports that are there."""
        paths = sorted(self.folder.glob("report-*.json"))
        return [json.loads(path.read_text("utf-8")) for path in paths]


def trial(
    folder: Path,
    actions: Mapping[str, Mapping[str, object]] | None = None,
    profile: Mapping[str, object] | None = None,
    paths: Sequence[Path] = (),
) -> Trial:
    """Write a plan into a folder; ``paths`` follow the hook's own on PYTHONPATH."""
    tasks = [
        {"name": name, "action": ACTIONS[name], "parameters": given}
        for name, given in (actions or {}).items()
    ]
    plan = {"report": str(folder / "report"), "tasks": tasks, "profile": profile}
    (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    kept = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "RANK"}}
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(str(entry) for entry in (INJECT, *paths, *inherited) if entry)
    return Trial(folder, {**kept, "TAILWAVE_PLAN": str(folder / "plan.json"), "PYTHONPATH": path})
