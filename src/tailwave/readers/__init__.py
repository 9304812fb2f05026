"""Readers of recordings: a file in, Timelines out."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.readers import kineto
from tailwave.readers.byte_source import refused

# Each has SUFFIXES, the ends of its files' names in lower case, and read_trace(path, progress).
# The first takes files whose names say nothing.
READERS: tuple[ModuleType, ...] = (kineto,)

Progress = Callable[[int, int], None]


def read(path: Path, progress: Progress | None = None) -> list[Timeline]:
    """Read a recording, or a folder of them: one timeline a rank, sorted by rank.

    ``progress`` is called with the bytes read, of the file or of all files of the folder, and
    their total. Files of a folder that are no recordings are named in the notes of the first
    timeline. Raises UnreadableInputError when nothing can be read.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UnreadableInputError(f"there is no file {path}: check the path.") from error
    except OSError as error:
        raise refused(path, error) from error
    if stat.S_ISDIR(mode):
        return _ranked(_read_folder(path, progress))
    if not stat.S_ISREG(mode):
        raise UnreadableInputError(f"{path} is not a file: save the recording as one.")
    return [_read_file(path, progress)]


def _read_file(path: Path, progress: Progress | None) -> Timeline:
    name = path.name.lower()
    reader = next((r for r in READERS if name.endswith(r.SUFFIXES)), READERS[0])
    timeline: Timeline = reader.read_trace(path, progress)
    return timeline


def _read_folder(folder: Path, progress: Progress | None) -> list[Timeline]:
    timelines: list[Timeline] = []
    faults: list[str] = []
    sizes = _listed(folder)
    before, total = 0, sum(sizes.values())
    for file, size in sizes.items():
        try:
            timelines.append(_read_file(file, _shifted(progress, before, total)))
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
            for file in sorted(folder.iterdir())
            if file.name.lower().endswith(suffixes) and file.is_file()
        }
    except OSError as error:
        raise refused(folder, error) from error
    if not sizes:
        kinds = " or ".join(suffixes)
        raise UnreadableInputError(f"{folder} holds no recording: put {kinds} files into it.")
    return sizes


def _ranked(timelines: list[Timeline]) -> list[Timeline]:
    """Sort by rank; where the recordings do not say theirs apart, number them in order."""
    if len({timeline.rank for timeline in timelines}) < len(timelines):
        return [replace(timeline, rank=rank) for rank, timeline in enumerate(timelines)]
    return sorted(timelines, key=lambda timeline: timeline.rank)
