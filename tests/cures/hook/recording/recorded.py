"""Builds a CUPTI and a driver that are not there, and runs small programs under the recorder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import tailwave

HERE = Path(__file__).parent
CUPTI = "nvidia/cu13/lib/libcupti.so.13"
TORCH = """
class cuda:
    @staticmethod
    def _lazy_init(): pass
"""
# Turns to the GPU as torch does, and gets at the fake's launches.
BEGIN = f"""
import ctypes, os, sys, tailwave, torch
torch.cuda._lazy_init()
places = (os.path.join(entry, {CUPTI!r}) for entry in sys.path)
fake = ctypes.CDLL(next(filter(os.path.isfile, places)))
"""


class Machine(NamedTuple):
    """A folder, and the environment of programs that find the fakes."""

    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run tailwave, with more variables where they are given."""
        return subprocess.run(
            [sys.executable, "-m", "tailwave", *arguments],
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def program(self, source: str) -> list[str]:
        """Write a program down; return the command that runs it."""
        path = self.folder / "program.py"
        path.write_text(BEGIN + source, "utf-8")
        return [sys.executable, str(path)]

    def diagnosis(self, name: str = "recording.tailwave") -> dict[str, Any]:
        """Return what ``diagnose`` says of a recording."""
        found: dict[str, Any] = msgspec.json.decode(self.run("diagnose", "--json", name).stdout)
        return found


def machine(folder: Path) -> Machine:
    """Build the fakes; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    site, libraries = folder / "site", folder / "lib"
    (site / CUPTI).parent.mkdir(parents=True)
    libraries.mkdir()
    (site / "torch.py").write_text(TORCH, "utf-8")
    for source, target in (
        ("fake_cupti.c", site / CUPTI),
        ("fake_driver.c", libraries / "libcuda.so.1"),
    ):
        built = [compiler, "-shared", "-fPIC", "-o", str(target), str(HERE / source)]
        subprocess.run(built, check=True)
    source = str(Path(tailwave.__file__).parents[1])
    paths = [str(site), source]
    return Machine(
        folder,
        {
            **os.environ,
            "LD_LIBRARY_PATH": str(libraries),
            "PYTHONPATH": os.pathsep.join(paths),
        },
    )
