"""Reads what nsys exports to SQLite: ``nsys export --type sqlite``, schemas up to 3.x.

Each process that used a GPU becomes a timeline of its own, as a rank of one run.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

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
from tailwave.recordings.readers.nsys.devices import devices_of, metric_notes
from tailwave.recordings.readers.nsys.names import Names
from tailwave.recordings.readers.nsys.notes import host_faults, quotes
from tailwave.recordings.readers.reader import ByteProgress, Certainty

WHAT: str = "exports of nsys (.sqlite)"
SUFFIXES: tuple[str, ...] = (".sqlite", ".sqlite3", ".nsys-rep", ".qdrep", ".sqlite.gz")
RUNS: str = ""
_RECORD_CUDA: Final = "record with `nsys profile --trace=cuda,nvtx`"
RECORD_GPU: str = (
    "Record with `nsys profile --trace=cuda,nvtx`, an nsys as new as the driver, with rights to "
    "profile the GPU and no other profiler on it, until the GPU is done: a capture range "
    "(--capture-range, --duration) that ends before, or a program that is killed, loses its work."
)


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
        size, rows, done = path.stat().st_size, sum(map(database.count, tables.LONG_TABLES)), 0

        def fetched(more: int) -> None:
            nonlocal done
            done += more
            if progress is not None:
                progress(int(size * min(done / rows, 1.0)), size)

        database.fetched = fetched
        timelines = _timelines(database)
        if progress is not None:
            progress(size, size)
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


def _timelines(database: Database) -> list[Timeline]:
    names = Names(database)
    gpu, host = tables.gpu_rows(database, names), tables.host_rows(database, names)
    every = tables.Parts(gpu, host, tables.wait_rows(database, names)).placed()
    parts = every.timed()
    if len(parts.gpu["start"]) + len(parts.host["start"]) == 0:
        why = " ".join(
            (f"{database.path} holds no CUDA activity: {_RECORD_CUDA}.", *quotes(database))
        )
        raise UnreadableInputError(why)
    using = parts.gpu if len(parts.gpu["start"]) else parts.host
    processes = np.unique(using["process"]).tolist()
    metrics = metric_notes(database)
    timelines = [
        replace(
            _timeline(database, names, parts.of(process), process, metrics),
            rank=rank,
            world_size=len(processes),
        )
        for rank, process in enumerate(processes)
    ]
    if lost := len(every) - len(parts):
        note = f"{lost} row{'s' if lost > 1 else ''} left out: without a begin and an end after it."
        timelines[0] = replace(timelines[0], notes=(*timelines[0].notes, note))
    return timelines


def _timeline(
    database: Database, names: Names, parts: tables.Parts, process: int, metrics: tuple[str, ...]
) -> Timeline:
    threads, thread = np.unique(parts.host["thread"], return_inverse=True)
    host = host_table({**parts.host, "thread": thread})
    work = gpu_in_order(parts.gpu)
    return Timeline(
        names=names.names,
        threads=_threads(database, names, threads),
        devices=devices_of(database, tables.pid_of(process)),
        host=host,
        gpu=gpu_table(work, launches(work["correlation"], host)),
        waits=wait_table(parts.waits),
        kind="nsys",
        path=str(database.path),
        events=len(parts),
        notes=(
            *_graph_notes(parts),
            *metrics,
            *host_faults(database, process),
            *(() if len(work["start"]) else quotes(database, process)),
        ),
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
