"""Readers of recordings: a file in, Timelines out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.files import is_folder, refused
from tailwave.model import Timeline
from tailwave.recordings.readers import kineto, nsys, recorded

# Each has SUFFIXES, the ends of its files' names in lower case, MAGIC, what its files begin with
# (b"" for nothing in particular), and read_timelines(path, progress). The first takes files that
# say nothing of what they are.
READERS: tuple[ModuleType, ...] = (kineto, nsys, recorded)

_LONGEST_MAGIC = 32
_DIGITS = re.compile(r"([0-9]+)")

Progress = Callable[[int, int], None]


def read(path: Path, progress: Progress | None = None) -> list[Timeline]:
    """Read a recording, or a folder of them: one timeline a rank or process, sorted by rank.

    ``progress`` is called with the bytes read, of the file or of all files of the folder, and
    their total. Files of a folder that are no recordings are named in the notes of the first
    timeline. Raises UnreadableInputError when nothing can be read.
    """
    if is_folder(path):
        return _ranked(_read_folder(path, progress))
    return _read_file(path, progress)


def _read_file(path: Path, progress: Progress | None) -> list[Timeline]:
    timelines: list[Timeline] = _reader_of(path).read_timelines(path, progress)
    return timelines


def _reader_of(path: Path) -> ModuleType:
    """Choose by what the file begins with, then by its name."""
    try:
        with path.open("rb") as file:
            head = file.read(_LONGEST_MAGIC)
    except OSError as error:
        raise refused(path, error) from error
    name = path.name.lower()
    by_content = (r for r in READERS if r.MAGIC and head.startswith(r.MAGIC))
    by_name = (r for r in READERS if name.endswith(r.SUFFIXES))
    return next(by_content, next(by_name, READERS[0]))


def _read_folder(folder: Path, progress: Progress | None) -> list[Timeline]:
    timelines: list[Timeline] = []
    faults: list[str] = []
    sizes = _listed(folder)
    before, total = 0, sum(sizes.values())
    for file, size in sizes.items():
        try:
            timelines += _read_file(file, _shifted(progress, before, total))
        except UnreadableInputError as error:
            faults.append(str(error))
        before += size
    if not timelines:
        raise UnreadableInputError(f"{folder} holds no recording that can be read; {faults[0]}")
    notes = tuple(f"A file was left out: {fault}" for fault in faults)
    timelines[0] = replace(timelines[0], notes=timelines[0].notes + notes)
    return timelines


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Make one file's progress that of its folder."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _listed(folder: Path) -> dict[Path, int]:
    """List a folder's recordings by name, with their sizes in bytes."""
    suffixes = tuple(suffix for reader in READERS for suffix in reader.SUFFIXES)
    try:
        sizes = {
            file: file.stat().st_size
            for file in sorted(folder.iterdir(), key=_in_order)
            if file.name.lower().endswith(suffixes) and file.is_file()
        }
    except OSError as error:
        raise refused(folder, error) from error
    if not sizes:
        raise UnreadableInputError(
            f"{folder} holds no recording: put traces (.json, .json.gz), exports of nsys (.sqlite) "
            "or recordings of tailwave (.tailwave) into it; files of ncu are given by their names."
        )
    return sizes


def _in_order(file: Path) -> list[tuple[int, str]]:
    """Sort numbers in names by their value: rank 2 comes before rank 10."""
    parts = _DIGITS.split(file.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _ranked(timelines: list[Timeline]) -> list[Timeline]:
    """Sort by rank; where the recordings do not say theirs apart, number them in order."""
    if len({timeline.rank for timeline in timelines}) < len(timelines):
        return [replace(timeline, rank=rank) for rank, timeline in enumerate(timelines)]
    return sorted(timelines, key=lambda timeline: timeline.rank)
