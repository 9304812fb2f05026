"""Reads what nsys exports to SQLite: ``nsys export --type sqlite``, schemas up to 3.x.

Each process that used a GPU becomes a timeline of its own, as a rank of one run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import Ints, Thread, Timeline
from tailwave.readers.nsys import tables
from tailwave.readers.nsys.database import MAGIC, Database
from tailwave.readers.nsys.devices import devices_of
from tailwave.readers.nsys.metrics import metric_notes
from tailwave.readers.nsys.names import Names

__all__ = ["MAGIC", "SUFFIXES", "read_timelines"]

SUFFIXES: Final = (".sqlite", ".sqlite3", ".nsys-rep", ".qdrep")
_RECORD_CUDA: Final = "record with `nsys profile --trace=cuda,nvtx`"

Progress = Callable[[int, int], None]


def read_timelines(path: Path, progress: Progress | None = None) -> list[Timeline]:
    """Read an export: a timeline for each process that used a GPU, by process id.

    ``progress`` is called with the bytes of the file that were dealt with, and its size. Raises
    UnreadableInputError where it holds no CUDA activity or is no export of nsys.
    """
    with closing(Database(path)) as database:
        if not database.has("StringIds"):
            raise UnreadableInputError(
                f"{path} is a database, but not one of nsys: give the .sqlite file that "
                "`nsys export --type sqlite` writes."
            )
        return _timelines(database, _Steps(path, progress))


class _Steps:
    """Progress in the few steps that reading a database takes, of like length."""

    _COUNT = 4

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self._size = path.stat().st_size
        self._progress = progress
        self._done = 0

    def step(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._size * self._done // self._COUNT, self._size)


class _Process(NamedTuple):
    """One process of the recording, and its place among those that used a GPU."""

    pid: int
    rank: int
    of: int


def _timelines(database: Database, steps: _Steps) -> list[Timeline]:
    names = Names(database)
    steps.step()
    gpu = tables.gpu_rows(database, names)
    steps.step()
    host = tables.host_rows(database, names)
    steps.step()
    waits = tables.wait_rows(database, names)
    steps.step()
    host["process"] = tables.process_of(host["thread"])
    every = tables.Parts(gpu, host, waits)
    parts = every.timed()
    if len(parts.gpu["start"]) + len(parts.host["start"]) == 0:
        raise UnreadableInputError(f"{database.path} holds no CUDA activity: {_RECORD_CUDA}.")
    using = parts.gpu if len(parts.gpu["start"]) else parts.host
    pids = np.unique(using["process"]).tolist()
    timelines = [
        _timeline(database, names, parts.of(pid), _Process(pid, rank, len(pids)))
        for rank, pid in enumerate(pids)
    ]
    return [_noted(timelines[0], len(every) - len(parts)), *timelines[1:]]


def _noted(timeline: Timeline, lost: int) -> Timeline:
    """Say how many rows of the export were of no use."""
    if not lost:
        return timeline
    note = f"{lost} row{'s' if lost > 1 else ''} left out: without a begin and an end after it."
    return replace(timeline, notes=(*timeline.notes, note))


def _timeline(database: Database, names: Names, parts: tables.Parts, process: _Process) -> Timeline:
    threads, parts.host["thread"] = np.unique(parts.host["thread"], return_inverse=True)
    host = tables.host_table(parts.host)
    return Timeline(
        names=names.all,
        threads=_threads(database, names, threads),
        devices=devices_of(database, process.pid),
        host=host,
        gpu=tables.gpu_table(parts.gpu, host),
        waits=tables.wait_table(parts.waits),
        kind="nsys",
        path=str(database.path),
        rank=process.rank,
        world_size=process.of,
        events=len(parts),
        notes=(*_graph_notes(parts), *metric_notes(database)),
    )


def _threads(database: Database, names: Names, ids: Ints) -> tuple[Thread, ...]:
    called = {
        row[1]: names.string(row[0]) if isinstance(row[0], int) else ""
        for row in database.rows("ThreadNames", ("nameId", "globalTid"))
    }
    pids, tids = tables.process_of(ids).tolist(), tables.thread_of(ids).tolist()
    return tuple(
        Thread(str(pid), str(tid), called.get(one, ""))
        for one, pid, tid in zip(ids.tolist(), pids, tids, strict=True)
    )


def _graph_notes(parts: tables.Parts) -> tuple[str, ...]:
    """Say what is not known of graphs that were recorded as a whole."""
    whole = int(parts.gpu["whole_graph"].sum())
    if not whole:
        return ()
    note = (
        f"{whole} graph launches were recorded as a whole: their kernels are not known. Record "
        "with `--cuda-graph-trace=node` for kernels."
    )
    return (note,)
