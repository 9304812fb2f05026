"""Reads the files that a command was given, showing how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwave.model import KernelProfiles, Timeline

# Files below this size (bytes) are read before a progress bar could be seen.
_BIG = 8 << 20


def read_inputs(files: tuple[Path, ...]) -> tuple[list[Timeline], list[KernelProfiles]]:
    """Read recordings and kernel profiles, told apart by what they hold."""
    from tailwave.profiles import holds_profiles, once, read_profiles  # noqa: PLC0415 - as below

    ours = tuple(file for file in files if holds_profiles(file))
    others = tuple(file for file in files if file not in ours)
    apart = {file.resolve(): file for file in ours}  # a file may be given twice
    return read_files(others), once([read_profiles(file) for file in apart.values()])


def read_files(files: tuple[Path, ...]) -> list[Timeline]:
    """Read files and folders; several are the ranks of one run."""
    from tailwave.recordings.readers import read  # noqa: PLC0415 - numpy is not needed for --help

    timelines: list[Timeline] = []
    for file in files:
        with _progress(file) as report:
            timelines += read(file, report)
    return timelines


@contextmanager
def _progress(file: Path) -> Iterator[Callable[[int, int], None] | None]:
    """Show on stderr how much of a big file has been read, when somebody is looking."""
    big = file.is_dir() or (file.is_file() and file.stat().st_size > _BIG)
    if not (big and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only wanted for big files
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("reading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(file.name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
