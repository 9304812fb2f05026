"""Builds a CUPTI and a driver that are not there, and records small programs with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tailwave import cli
from tests.cures.hook.programs import FAKE_TORCH, PACKAGE

HERE = Path(__file__).parent
CUPTI = "nvidia/cu13/lib/libcupti.so.13"
# Turns to the GPU as CuPy does, by its import, and gets at the fake's launches.
BEGIN = f"""
import ctypes, os, sys, tailwave, cupy
places = (os.path.join(entry, {CUPTI!r}) for entry in sys.path)
fake = ctypes.CDLL(next(filter(os.path.isfile, places)))
"""


class Ran(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


class Machine(NamedTuple):
    """A folder to work in, where programs find the fakes."""

    folder: Path
    output: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Ran:
        """Run tailwave in this process; the program that it records is one of its own."""
        code = cli.run(list(arguments))
        return Ran(code, *self.output.readouterr())

    def program(self, source: str, begin: str = BEGIN) -> list[str]:
        """Write a program down; return the command that runs it."""
        path = self.folder / "program.py"
        path.write_text(begin + source, "utf-8")
        return [sys.executable, str(path)]


def built(folder: Path) -> Path:
    """Build the fakes into a folder; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / CUPTI).parent.mkdir(parents=True)
    (folder / "cupy.py").touch()
    for source, name in (("fake_cupti.c", CUPTI), ("fake_driver.c", "libcuda.so.1")):
        command = [compiler, "-shared", "-fPIC", "-o", str(folder / name), str(HERE / source)]
        subprocess.run(command, check=True)
    return folder


def environment(fakes: Path) -> dict[str, str]:
    """Return the variables by which programs find the fakes, and tailwave itself."""
    paths = map(str, (fakes, FAKE_TORCH, PACKAGE.parent))
    return {"LD_LIBRARY_PATH": str(fakes), "PYTHONPATH": os.pathsep.join(paths)}
