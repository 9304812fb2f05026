"""Records the workloads on this machine's GPU, with the truth about each.

    python -m benchmarks.workloads.record --out FOLDER --limit 420

Into FOLDER go ``traces-N.tar`` (the traces, gzipped), ``rows.jsonl`` (one row of truth a trace),
``machine.json`` and ``record.log``, each written as the session goes: what is there when time
runs out is whole. Each group of cases gets its own process, forked before CUDA is touched.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime as dt
import importlib.metadata
import json
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import torch

from benchmarks.workloads import recorder
from benchmarks.workloads.cases import HOST_CAUSES, Case, Graph, Group, Step, Workload
from benchmarks.workloads.families import GROUPS

_TAR_BYTES = 14 << 20
_LEAST_S = 5.0  # no group is begun with less time than this
_CRASHED = 3
_PACKAGES = ("torch", "torchvision", "transformers", "triton", "numpy", "cuda-core")

Row = dict[str, Any]


@dataclasses.dataclass
class Prepared:
    """A case that was built and timed, and waits for the profiler."""

    case: Case
    workload: Workload
    laps: list[float]
    replay: Step | None = None
    replay_laps: list[float] = dataclasses.field(default_factory=list)


def prepare(case: Case) -> Prepared:
    """Build a case and time it without the profiler."""
    torch.manual_seed(0)
    workload = case.build()
    recorder.warm_up(workload.step)
    with workload.around():
        estimate = recorder.warm_up(workload.step, fewest=3, seconds=0.1)
        prepared = Prepared(case, workload, recorder.time_steps(workload.step, estimate))
    if case.graph is not Graph.NO:
        prepared.replay = recorder.capture(workload.step)
        estimate = recorder.warm_up(prepared.replay)
        prepared.replay_laps = recorder.time_steps(prepared.replay, estimate)
    return prepared


def record(prepared: Prepared, folder: Path) -> list[Row]:
    """Profile a case, and its graph where that is wanted; return the rows of truth."""
    case, both = prepared.case, prepared.case.graph is Graph.RECORDED
    stem = f"{case.name}.eager" if both else case.name
    twin = f"{case.name}.graph" if both else case.twin
    path = folder / f"{stem}.json.gz"
    recorder.warm_up(prepared.workload.step, seconds=0.1)
    with prepared.workload.around():
        recorder.warm_up(prepared.workload.step, fewest=3, seconds=0.1)
        recorder.record(prepared.workload.step, case.recording, path)
    row = _row(path, case, prepared.laps, top=case.top, not_top=case.not_top)
    if prepared.replay_laps:
        row["graphed_ms_per_step"] = recorder.typical(prepared.replay_laps)
    if twin:
        row["twin"] = f"{twin}.json.gz"
    rows = [row]
    if both and prepared.replay:
        path = folder / f"{case.name}.graph.json.gz"
        recorder.warm_up(prepared.replay, seconds=0.1)
        recorder.record(prepared.replay, case.recording, path)
        rows.append(_row(path, case, prepared.replay_laps, top=None, not_top=HOST_CAUSES))
    return rows


def _row(
    path: Path, case: Case, laps: list[float], *, top: str | None, not_top: tuple[str, ...]
) -> Row:
    row: Row = {
        "file": path.name,
        "steps": case.recording.steps,
        "unprofiled_ms_per_step": recorder.typical(laps),
        "top": top,
        "not_top": list(not_top),
        "repeats_ms": [round(lap, 4) for lap in laps],
    }
    if case.sm_count:
        row["sm_count"] = case.sm_count
    if case.remark:
        row["remark"] = case.remark
    return row


class Session:
    """One run of the recorder: its clock, its log and its output."""

    def __init__(self, out: Path, scratch: Path, limit_s: float) -> None:
        """Start the clock."""
        self.out, self.scratch = out, scratch
        self._began = time.monotonic()
        self._limit_s = limit_s
        self._packed: set[str] = set()
        self._tars = 0

    def left(self) -> float:
        """Return the seconds left."""
        return self._limit_s - (time.monotonic() - self._began)

    def log(self, text: str) -> None:
        """Print a line and keep it."""
        line = f"[{time.monotonic() - self._began:6.1f}] {text}"
        print(line, flush=True)
        with (self.out / "record.log").open("a") as log:
            log.write(line + "\n")

    def keep(self, row: Row, size: int) -> None:
        """Append a row of truth."""
        with (self.out / "rows.jsonl").open("a") as rows:
            rows.write(json.dumps(row) + "\n")
        graphed = row.get("graphed_ms_per_step", "-")
        self.log(f"  {row['file']}: {row['unprofiled_ms_per_step']} ms ({graphed}), {size} bytes")

    def kept(self) -> set[str]:
        """Return the names of the files that have a row."""
        path = self.out / "rows.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return {json.loads(line)["file"] for line in lines}

    def pack(self) -> None:
        """Add the traces that have a row to the newest archive."""
        for name in sorted(self.kept() - self._packed):
            target = self.out / f"traces-{self._tars}.tar"
            if target.exists() and target.stat().st_size > _TAR_BYTES:
                self._tars += 1
                target = self.out / f"traces-{self._tars}.tar"
            with tarfile.open(target, "a") as archive:
                archive.add(self.scratch / name, arcname=name)
            self._packed.add(name)


def run_group(group: Group, session: Session) -> None:
    """Time all cases of a group, then profile each; one that fails does not stop the others."""
    ready = []
    for case in group.cases:
        try:
            ready.append(prepare(case))
        except Exception:  # noqa: BLE001 - reported, and the other workloads go on
            _report(session, case)
    for prepared in ready:
        try:
            for row in record(prepared, session.scratch):
                session.keep(row, (session.scratch / row["file"]).stat().st_size)
        except Exception:  # noqa: BLE001
            _report(session, prepared.case)


def _report(session: Session, case: Case) -> None:
    session.log(f"  {case.name} FAILED\n{traceback.format_exc()}")
    try:
        torch.cuda.synchronize()
    except RuntimeError:  # the context is lost, and with it every later case of this process
        os._exit(_CRASHED)


def _child(group: Group, session: Session) -> None:
    os.setpgid(0, 0)
    run_group(group, session)
    os._exit(0)  # without the teardown of CUDA, which takes a second


def run_apart(group: Group, session: Session) -> int | None:
    """Run a group in its own process; return its exit code, None when it ran out of time."""
    process = multiprocessing.get_context("fork").Process(target=_child, args=(group, session))
    process.start()
    process.join(max(min(group.limit_s, session.left()), 0))
    code = process.exitcode
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # with the processes that it started
    process.join()
    return code


def run_session(groups: list[Group], session: Session) -> None:
    """Run the groups in order until time runs out."""
    for group in groups:
        if session.left() < _LEAST_S:
            session.log(f"{group.name} skipped: no time left")
            continue
        session.log(group.name)
        code = run_apart(group, session)
        if code is None:
            session.log(f"{group.name} stopped: out of time")
        elif code:
            session.log(f"{group.name} ended with {code}")
            for case in _lost(group, session):
                run_apart(Group(case.name, (case,), group.limit_s), session)
        session.pack()


def _lost(group: Group, session: Session) -> list[Case]:
    kept = session.kept()
    names = {case: f"{case.name}.eager" for case in group.cases if case.graph is Graph.RECORDED}
    return [case for case in group.cases if f"{names.get(case, case.name)}.json.gz" not in kept]


def _gpu() -> str:
    query = "--query-gpu=name,driver_version,memory.total,clocks.max.sm"
    try:
        return subprocess.run(  # noqa: S603 - fixed arguments
            ["nvidia-smi", query, "--format=csv,noheader"],  # noqa: S607 - from the PATH
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    except OSError:
        return ""


def machine() -> Row:
    """Describe where the recordings are made."""
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    versions = {}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "device": _gpu(),
        "host": f"{platform.system()} {platform.release()}, {os.cpu_count()} cores",
        "cpu": cpu.group(1) if cpu else "",
        "python": platform.python_version(),
        "packages": versions,
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "command": "python -m benchmarks.workloads.record " + " ".join(sys.argv[1:]),
    }


def main() -> None:
    """Record what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the output")
    parser.add_argument("--limit", type=float, default=420.0, help="seconds for everything")
    parser.add_argument("--only", default="", help="regular expression for the groups' names")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n")
    groups = [group for group in GROUPS if re.search(chosen.only, group.name)]
    with tempfile.TemporaryDirectory(prefix="recordings-") as scratch:
        session = Session(chosen.out, Path(scratch), chosen.limit)
        run_session(groups, session)
        session.log(f"{len(session.kept())} recordings")


if __name__ == "__main__":
    main()
