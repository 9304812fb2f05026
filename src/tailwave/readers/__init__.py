"""Readers of recordings: a file in, Timelines out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.model import Timeline
from tailwave.readers import kineto

READERS: tuple[ModuleType, ...] = (kineto,)


def read(path: Path, progress: Callable[[int, int], None] | None = None) -> list[Timeline]:
    """Read a recording, or a folder of them: one timeline a rank, sorted by rank.

    ``progress`` is called with the bytes read of a file and its size. Raises UnreadableInputError.
    """
    if path.is_dir():
        return _ranked([kineto.read_trace(file, progress) for file in _listed(path)])
    if not path.exists():
        raise UnreadableInputError(f"there is no file {path}.")
    if not path.is_file():
        raise UnreadableInputError(f"{path} is not a file.")
    return [kineto.read_trace(path, progress)]


def _listed(folder: Path) -> list[Path]:
    try:
        files = sorted(
            file
            for file in folder.iterdir()
            if file.is_file() and file.name.endswith(kineto.SUFFIXES)
        )
    except OSError as error:
        raise UnreadableInputError(f"cannot read {folder}: {error.strerror}.") from error
    if not files:
        raise UnreadableInputError(
            f"{folder} holds no trace ({' or '.join(kineto.SUFFIXES)} files)."
        )
    return files


def _ranked(timelines: list[Timeline]) -> list[Timeline]:
    """Sort by rank; where the traces do not say theirs apart, number them in order."""
    if len({timeline.rank for timeline in timelines}) < len(timelines):
        return [replace(timeline, rank=rank) for rank, timeline in enumerate(timelines)]
    return sorted(timelines, key=lambda timeline: timeline.rank)
