"""CSV pages as ncu writes them: its columns, its messages, in any language and encoding."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from tailwave.model import KernelProfiles
from tailwave.profiles.ncu import read_profiles

LAUNCH = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC"),
)
LONG = (*LAUNCH, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
RULES = (
    "Rule Name",
    "Rule Type",
    "Rule Description",
    "Estimated Speedup Type",
    "Estimated Speedup",
)
NVTX = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
SECTION = "Command line profiler metrics"

Metric = tuple[str, str, str]  # name, unit, value as written


def launched(number: int = 0, name: str = "k(float *)", process: int = 42) -> tuple[str, ...]:
    """Return the columns that say which launch a row is of."""
    shapes = ("(256, 1, 1)", "(1320, 2, 1)")
    return (str(number), str(process), "app", "127.0.0.1", name, "1", "7", *shapes, "0", "9.0")


def rows(table: Iterable[Sequence[str]]) -> str:
    """Write rows with every field quoted, as ncu does."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    return text.getvalue()


def long_page(launches: Sequence[tuple[tuple[str, ...], Sequence[Metric]]]) -> str:
    """Write what ``ncu --csv --metrics ...`` does: a row a metric."""
    table = [(*launch, SECTION, *metric) for launch, metrics in launches for metric in metrics]
    return rows([LONG, *table])


def raw_page(launches: Sequence[tuple[tuple[str, ...], Sequence[Metric]]]) -> str:
    """Write what ``ncu --csv --page raw`` does: a row of units, then a row a launch."""
    metrics = launches[0][1]
    header = (*LAUNCH, *(name for name, _, _ in metrics))
    units = (*("",) * len(LAUNCH), *(unit for _, unit, _ in metrics))
    table = [(*launch, *(value for _, _, value in values)) for launch, values in launches]
    return rows([header, units, *table])


def saved(folder: Path, text: str | bytes) -> Path:
    """Save a page."""
    path = folder / "page.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


TIME, HITS, STORED = "gpu__time_duration.sum", "lts__t_sector_hit_rate.pct", "dram__bytes.sum"
METRICS = [(TIME, "us", "1,205.50"), (HITS, "%", "82.25"), (STORED, "Kbyte", "12.50")]
TWO = [(launched(0), METRICS), (launched(1, "void f<int, 2>(T1 *)"), METRICS)]


def read(folder: Path, text: str | bytes) -> KernelProfiles:
    """Save a page and read it."""
    return read_profiles(saved(folder, text))
