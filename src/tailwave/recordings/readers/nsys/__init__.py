"""Reads what nsys exports to SQLite: ``nsys export --type sqlite``, schemas up to 3.x.

Each process that used a GPU becomes a timeline of its own, as a rank of one run.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import Ints, Thread, Timeline
from tailwave.recordings.activity.tables import (
    gpu_in_order,
    gpu_table,
    host_table,
    launches,
    wait_table,
)
from tailwave.recordings.readers.nsys import tables
from tailwave.recordings.readers.nsys.database import MAGIC, Database
from tailwave.recordings.readers.nsys.devices import devices_of
from tailwave.recordings.readers.nsys.metrics import metric_notes
from tailwave.recordings.readers.nsys.names import Names
from tailwave.recordings.readers.reader import ByteProgress, Certainty

WHAT: str = "exports of nsys (.sqlite)"
SUFFIXES: tuple[str, ...] = (".sqlite", ".sqlite3", ".nsys-rep", ".qdrep", ".sqlite.gz")
RUNS: str = ""
_RECORD_CUDA: Final = "record with `nsys profile --trace=cuda,nvtx`"


def claims(path: Path, head: bytes) -> Certainty:
    """Know an export by being a database, a report by its name."""
    if head.startswith(MAGIC):
        return Certainty.BY_MAGIC
    return Certainty.BY_NAME if path.name.lower().endswith(SUFFIXES) else Certainty.NOT_MINE


def read_timelines(path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
    """Read an export: a timeline for each process that used a GPU, by process id.

    ``progress`` is called with the bytes of the file that were dealt with, and its size. Raises
    UnreadableInputError where it holds no CUDA activity or is no export of nsys.
    """
    with closing(Database(path)) as database:
        if not database.has("StringIds"):
            raise UnreadableInputError(f"{path} {_foreign(database)}.")
        told = _Told(path, progress, sum(map(database.count, tables.LONG_TABLES)))
        database.fetched = told.rows
        timelines = _timelines(database)
        told.all()
        return timelines


def _foreign(database: Database) -> str:
    """Say what a database is that is not nsys's, and what to give instead."""
    if any(table.startswith("rocpd_") for table in database.tables):
        return (
            "is a recording of rocprofv3 (rocpd), which is not read: give a trace that "
            "torch.profiler exported (export_chrome_trace), which records AMD GPUs too"
        )
    return (
        "is a database, but not one of nsys: give the .sqlite file that "
        "`nsys export --type sqlite` writes"
    )


class _Told:
    """Tells progress in bytes of the file, from the rows of its long tables."""

    def __init__(self, path: Path, progress: ByteProgress | None, rows: int) -> None:
        self._size = path.stat().st_size
        self._progress = progress
        self._rows = max(rows, 1)
        self._done = 0

    def rows(self, number: int) -> None:
        """Count rows that were read."""
        self._done += number
        self._tell(min(self._done / self._rows, 1.0))

    def all(self) -> None:
        """Tell the end."""
        self._tell(1.0)

    def _tell(self, share: float) -> None:
        if self._progress is not None:
            self._progress(int(self._size * share), self._size)


class _Process(NamedTuple):
    """One process of the recording, and its place among those that used a GPU."""

    key: int
    rank: int
    of: int


def _timelines(database: Database) -> list[Timeline]:
    names = Names(database)
    gpu, host = tables.gpu_rows(database, names), tables.host_rows(database, names)
    every = tables.Parts(gpu, host, tables.wait_rows(database, names)).placed()
    parts = every.timed()
    if len(parts.gpu["start"]) + len(parts.host["start"]) == 0:
        raise UnreadableInputError(f"{database.path} holds no CUDA activity: {_RECORD_CUDA}.")
    using = parts.gpu if len(parts.gpu["start"]) else parts.host
    processes = np.unique(using["process"]).tolist()
    metrics = metric_notes(database)
    timelines = [
        _timeline(
            database, names, parts.of(process), _Process(process, rank, len(processes)), metrics
        )
        for rank, process in enumerate(processes)
    ]
    return [_noted(timelines[0], len(every) - len(parts)), *timelines[1:]]


def _noted(timeline: Timeline, lost: int) -> Timeline:
    """Say how many rows of the export were of no use."""
    if not lost:
        return timeline
    note = f"{lost} row{'s' if lost > 1 else ''} left out: without a begin and an end after it."
    return replace(timeline, notes=(*timeline.notes, note))


def _timeline(
    database: Database,
    names: Names,
    parts: tables.Parts,
    process: _Process,
    metrics: tuple[str, ...],
) -> Timeline:
    threads, thread = np.unique(parts.host["thread"], return_inverse=True)
    host = host_table({**parts.host, "thread": thread})
    work = gpu_in_order(parts.gpu)
    return Timeline(
        names=names.names,
        threads=_threads(database, names, threads),
        devices=devices_of(database, tables.pid_of(process.key)),
        host=host,
        gpu=gpu_table(work, launches(work["correlation"], host)),
        waits=wait_table(parts.waits),
        kind="nsys",
        path=str(database.path),
        rank=process.rank,
        world_size=process.of,
        events=len(parts),
        notes=(*_graph_notes(parts), *metrics),
    )


def _threads(database: Database, names: Names, ids: Ints) -> tuple[Thread, ...]:
    called = {
        row[1]: names.string(row[0]) if isinstance(row[0], int) else ""
        for row in database.rows("ThreadNames", ("nameId", "globalTid"))
    }
    pids = [tables.pid_of(process) for process in tables.process_of(ids).tolist()]
    tids = tables.thread_of(ids).tolist()
    return tuple(
        Thread(str(pid), str(tid), called.get(one, ""))
        for one, pid, tid in zip(ids.tolist(), pids, tids, strict=True)
    )


def _graph_notes(parts: tables.Parts) -> tuple[str, ...]:
    """Say what is not known of graphs that were recorded as a whole."""
    whole = int(parts.gpu["whole_graph"].sum())
    if not whole:
        return ()
    launches = "graph launches were" if whole > 1 else "graph launch was"
    note = (
        f"{whole} {launches} recorded as a whole: the kernels in it are not known. Record with "
        "`--cuda-graph-trace=node` for kernels."
    )
    return (note,)
