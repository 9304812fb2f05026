"""Time and memory of reading a long nsys export, against Python's sqlite3 alone.

The export is made up: 2 million kernels with their launches, in nsys's own tables (about 350 MB),
kept in ``.bench``. Beside it runs ``fetchall`` of the same columns, which is what a script of a few
lines would do, and keeps what it fetched as Python has it. Each runs in a process of its own.
"""

from __future__ import annotations

import platform
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from read_kineto import BENCH, Cost, machine, measure, megabytes

KERNELS = 2_000_000
GOAL_RATIO = 1.5  # of the processor time of fetchall
_BEST_OF = 2
_KERNELS_A_STEP = 1_000
_NAMES = 40
_PROCESS, _THREAD = 1 << 56 | 4321 << 24, 1 << 56 | 4321 << 24 | 4321
_LAUNCH, _FIRST_KERNEL = 1, 2

_SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
    registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
    gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
    blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
    dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
    localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER,
    graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
    callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,
    textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL,
    uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT,
    binaryData TEXT);
"""
_ALONE = (
    "import sqlite3",
    """
database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
kernels = database.execute('''
    SELECT start, end, deviceId, streamId, correlationId, globalPid, gridX, gridY, gridZ, blockX,
        blockY, blockZ, demangledName, registersPerThread, staticSharedMemory, dynamicSharedMemory,
        graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL''').fetchall()
calls = database.execute('''
    SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME
    ''').fetchall()
ranges = database.execute('''
    SELECT start, end, globalTid, textId, domainId, eventType, text FROM NVTX_EVENTS
    ''').fetchall()
""",
)
_TAILWAVE = (
    "from pathlib import Path; from tailwave.recordings.readers import read",
    "timelines = read(Path(sys.argv[1]))",
)


def main() -> None:
    """Print the table; fail when the goal is missed."""
    export = big_export()
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {machine()}")
    print(f"{megabytes(export)}, {KERNELS:,} kernels")
    print(f"{'':32}{'seconds':>10}{'CPU s':>10}{'peak MB':>10}{'of sqlite3':>16}")
    alone = measure(sys.executable, _ALONE, export, _BEST_OF)
    ours = measure(sys.executable, _TAILWAVE, export, _BEST_OF)
    for name, cost in (("sqlite3's fetchall", alone), ("tailwave reads", ours)):
        print(_row(name, cost, alone))
    ratio = ours.cpu / alone.cpu
    if ratio > GOAL_RATIO or ours.megabytes > alone.megabytes:
        raise SystemExit(
            f"too slow or too large: {ratio:.2f} of fetchall's time (goal {GOAL_RATIO}), "
            f"{ours.megabytes:.0f} MB (goal {alone.megabytes:.0f})"
        )


def _row(name: str, cost: Cost, alone: Cost) -> str:
    return (
        f"{name:32}{cost.seconds:>10.1f}{cost.cpu:>10.1f}{cost.megabytes:>10.0f}"
        f"{cost.cpu / alone.cpu:>16.2f}"
    )


def big_export() -> Path:
    """Return the path of the long export, making it when it is not there."""
    path = BENCH / f"kernels{KERNELS}.sqlite"
    if not path.exists():
        BENCH.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(unfinished)) as database, database:
            _fill(database)
        unfinished.rename(path)
    return path


def _fill(database: sqlite3.Connection) -> None:
    database.executescript(_SCHEMA)
    strings = ["cudaLaunchKernel_v7000", *(f"void kernel_{i}<float>(int)" for i in range(_NAMES))]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(strings, _LAUNCH))
    database.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0')")
    for table, rows, cells in (
        ("CUPTI_ACTIVITY_KIND_KERNEL", _kernels(), 28),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", _calls(), 8),
        ("NVTX_EVENTS", _ranges(), 20),
    ):
        marks = ", ".join("?" * cells)
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - ours


def _kernels() -> Iterator[tuple[int | None, ...]]:
    for i in range(KERNELS):
        start = 10_000 + 6_000 * i
        name = _FIRST_KERNEL + i % _NAMES
        when = (start, start + 4_000, 0, 1, None, 7, i + 1, _PROCESS)
        shape = (40, 1 + i % 900, 1, 1, 128, 1, 1, 4_096, 0, 0, 0)
        yield (*when, name, name, None, 1, 0, *shape, i, 8_192, None, 0)


def _calls() -> Iterator[tuple[int | None, ...]]:
    for i in range(KERNELS):
        start = 1_000 + 6_000 * i
        yield start, start + 3_500, 0, _THREAD, i + 1, _LAUNCH, 0, None


def _ranges() -> Iterator[tuple[int | str | None, ...]]:
    length = 6_000 * _KERNELS_A_STEP
    for i in range(KERNELS // _KERNELS_A_STEP):
        nothing = (None,) * 8
        when = (500 + i * length, (i + 1) * length, 59, None, None, None, f"iter {i}")
        yield (*when, _THREAD, None, None, 0, *nothing, None)


if __name__ == "__main__":
    main()
