"""A folder with every file that the pages name, and programs that fail as soon as they start."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tailwave import __version__
from tailwave.recordings.readers import kineto
from tailwave.recordings.readers.recorded import write_timelines
from tests.places import DATA, ROOT, TRACES
from tests.recordings.readers.nsys.converted import convert

EAGER = TRACES / "decode_small.eager.json.gz"
STARVED = TRACES / "input.starved_4ms.json.gz"
COUNTERS = DATA / "ncu" / "planted_faults.raw.csv.gz"
SESSIONS = ROOT / "benchmarks" / "results" / "check"
# What stands in the folder under which name.
COPIED = {
    "step.json.gz": EAGER,
    "recording.json.gz": EAGER,
    "trace.json.gz": EAGER,
    "rank0.json.gz": EAGER,
    "rank1.json.gz": STARVED,
    "sglang/rank0.json.gz": EAGER,
    "vllm_profile/WORKER.pt.trace.json.gz": EAGER,
    "examples/recordings/decode_small.eager.json.gz": EAGER,
    "examples/recordings/decode_small.graph.json.gz": TRACES / "decode_small.graph.json.gz",
    "old.json.gz": EAGER,
    "new.json.gz": EAGER,
    "before.json": SESSIONS / "run1.json",
    "today.json": SESSIONS / "run2.json",
    "a.json": SESSIONS / "run1.json",
    "b.json": SESSIONS / "run2.json",
    "c.json": SESSIONS / "run3.json",
}
UNPACKED = {"trace.json": EAGER, "kernels.csv": COUNTERS, "kernels.ncu-rep": COUNTERS}
# Programs that the pages start under tailwave, and scripts that they give to it.
PROGRAMS = ("python", "torchrun", "sh", "serve")
SCRIPTS = ("train.py", "serve.py", "bench.py", "transcribe.py", "record_steps.py")


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder, once."""
    folder = tmp_path_factory.mktemp("furnished")
    for name, source in COPIED.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / name)
    for name, source in UNPACKED.items():
        (folder / name).write_bytes(gzip.decompress(source.read_bytes()))
    timelines = kineto.read_timelines(EAGER, None)
    for name in ("report.sqlite", "run.sqlite"):
        convert(timelines[0], folder / name)
    write_timelines(folder / "run.tailwave", timelines, __version__)
    for name in (*PROGRAMS, *SCRIPTS):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def place(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a copy of the folder, as a user without a terminal and without references."""
    folder = tmp_path / "place"
    shutil.copytree(furnished, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    return folder
