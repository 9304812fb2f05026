"""Readers of recordings: a file in, Timelines or kernel profiles out."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import KernelProfiles, Timeline
from tailwave.readers import kineto, ncu, nsys, recorded
from tailwave.readers.byte_source import refused

# Each has SUFFIXES, the ends of its files' names in lower case, MAGIC, what its files begin with
# (b"" for nothing in particular), and read_timelines(path, progress). The first takes files that
# say nothing of what they are. The last reads kernel profiles: read_profiles(path), is_ours(path),
# and once(files).
READERS: tuple[ModuleType, ...] = (kineto, nsys, recorded, ncu)
_TRACES = READERS[:-1]

_LONGEST_MAGIC = 32
_DIGITS = re.compile(r"([0-9]+)")

Progress = Callable[[int, int], None]


def read(path: Path, progress: Progress | None = None) -> list[Timeline]:
    """Read a recording, or a folder of them: one timeline a rank or process, sorted by rank.

    ``progress`` is called with the bytes read, of the file or of all files of the folder, and
    their total. Files of a folder that are no recordings are named in the notes of the first
    timeline. Raises UnreadableInputError when nothing can be read.
    """
    if _is_folder(path):
        return _ranked(_read_folder(path, progress))
    return _read_file(path, progress)


def read_profiles(path: Path) -> KernelProfiles:
    """Read the kernel launches of a report of ncu, or of a CSV page of it.

    Raises UnreadableInputError when nothing can be read, UnavailableError for a report without the
    package that reads it.
    """
    if _is_folder(path):
        raise UnreadableInputError(f"{path} is a folder: give a report or a page that is in it.")
    return ncu.read_profiles(path)


def once(files: Sequence[KernelProfiles]) -> list[KernelProfiles]:
    """Leave each launch that several files hold in the one that tells most of it, with a note."""
    return ncu.once(files)


def holds_profiles(path: Path) -> bool:
    """Tell by its content whether a file is one for ``read_profiles``; else it is for ``read``.

    Raises UnreadableInputError when there is no such file.
    """
    return not _is_folder(path) and ncu.is_ours(path)


def _is_folder(path: Path) -> bool:
    """Tell a folder from a file; raises UnreadableInputError for anything else."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UnreadableInputError(f"there is no file {path}: check the path.") from error
    except OSError as error:
        raise refused(path, error) from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise UnreadableInputError(f"{path} is not a file: save the recording as one.")
    return stat.S_ISDIR(mode)


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
    by_content = (r for r in _TRACES if r.MAGIC and head.startswith(r.MAGIC))
    by_name = (r for r in _TRACES if name.endswith(r.SUFFIXES))
    return next(by_content, next(by_name, _TRACES[0]))


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
    suffixes = tuple(suffix for reader in _TRACES for suffix in reader.SUFFIXES)
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
