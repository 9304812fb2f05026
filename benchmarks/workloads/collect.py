"""Unpacks what the recorder brought back, and merges it into the folder of recordings.

    python -m benchmarks.workloads.collect OUT... [--into FOLDER]

A recording made again replaces the older one. Each row is completed with what its trace holds.
"""

from __future__ import annotations

import argparse
import json
import tarfile
from pathlib import Path
from typing import Any

from benchmarks.workloads.verify import FOLDER, read

Row = dict[str, Any]


def merge(outs: list[Path], folder: Path) -> None:
    """Bring the traces, the rows and the sessions of ``outs`` into ``folder``."""
    rows: dict[str, Row] = {row["file"]: row for row in _load(folder / "truth.json")}
    sessions: list[Row] = _load(folder / "sessions.json")
    for out in outs:
        for archive in sorted(out.glob("traces-*.tar")):
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        session = json.loads((out / "machine.json").read_text())
        for line in (out / "rows.jsonl").read_text().splitlines():
            row = json.loads(line)
            rows[row["file"]] = _completed(row, folder) | {"session": len(sessions)}
        sessions.append(session)
    _save(folder / "truth.json", list(rows.values()))
    _save(folder / "sessions.json", sessions)


def _completed(row: Row, folder: Path) -> Row:
    held = read(folder / row["file"])
    whole = row["steps"] if held.steps == 1 else 1  # unmarked: per step of the loop
    return row | {
        "recorded_ms_per_step": round(held.recorded_ms / whole, 4),
        "gpu_busy_ms_per_step": round(held.busy_ms / whole, 4),
    }


def _load(path: Path) -> list[Row]:
    return list(json.loads(path.read_text())) if path.exists() else []


def _save(path: Path, rows: list[Row]) -> None:
    path.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> None:
    """Merge what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outs", type=Path, nargs="+", metavar="OUT")
    parser.add_argument("--into", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    chosen.into.mkdir(parents=True, exist_ok=True)
    merge(chosen.outs, chosen.into)


if __name__ == "__main__":
    main()
