"""Readers of recordings: a file in, Timelines out."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.files import is_folder, refused
from tailwave.model import Timeline
from tailwave.recordings.readers import jax, kineto, nsys, onnxruntime, recorded
from tailwave.recordings.readers.reader import ByteProgress, Reader

# The surest reads a file; of equally sure ones the first, which so takes what nobody claims.
READERS: tuple[Reader, ...] = (kineto, nsys, recorded, jax, onnxruntime)

_HEAD_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_DIGITS = re.compile(r"([0-9]+)")


def read(paths: Path | Sequence[Path], progress: ByteProgress | None = None) -> list[Timeline]:
    """Read a recording, a folder of them, or several: one timeline a rank or process.

    What several files or a folder hold are the ranks of one run, sorted by rank. ``progress`` is
    called with the bytes read of all files, and their total. Files of a folder that are no
    recordings are named in the notes of its first timeline. Raises UnreadableInputError when a
    file that was named, or all of a folder, cannot be read.
    """
    given = [paths] if isinstance(paths, Path) else list(paths)
    sizes = {path: _sizes(path) for path in given}
    before, total = 0, sum(sum(files.values()) for files in sizes.values())
    timelines: list[Timeline] = []
    for path, files in sizes.items():
        found: list[Timeline] = []
        faults: list[str] = []
        for file, size in files.items():
            try:
                found += _read_file(file, _shifted(progress, before, total))
            except UnreadableInputError as error:
                if file == path:
                    raise
                faults.append(str(error))
            before += size
        if not found:
            raise UnreadableInputError(f"{path} holds no recording that can be read; {faults[0]}")
        notes = tuple(f"A file was left out: {fault}" for fault in faults)
        timelines += [replace(found[0], notes=found[0].notes + notes), *found[1:]]
    alone = len(given) == 1 and given[0] in sizes[given[0]]
    return timelines if alone else _ranked(timelines)


def _sizes(path: Path) -> dict[Path, int]:
    """Return the recordings that a path leads to, by name, with their sizes in bytes."""
    folder = is_folder(path)
    suffixes = tuple(suffix for reader in READERS for suffix in reader.SUFFIXES)
    try:
        if not folder:
            return {path: path.stat().st_size}
        # Of the folders that a profiler makes for its runs, the newest; their names are dates.
        runs = [max(path.glob(one.RUNS), default=None) for one in READERS if one.RUNS]
        sizes = {
            file: file.stat().st_size
            for home in (path, *(run for run in runs if run))
            for file in sorted(home.iterdir(), key=_in_order)
            if file.name.lower().endswith(suffixes) and file.is_file()
        }
    except OSError as error:
        raise refused(path, error) from error
    if not sizes:
        kinds = "; ".join(reader.WHAT for reader in READERS)
        raise UnreadableInputError(
            f"{path} holds no recording: put some into it ({kinds}); files of ncu are given by "
            "their names."
        )
    return sizes


def _in_order(file: Path) -> list[tuple[int, str]]:
    """Sort numbers in names by their value: rank 2 comes before rank 10."""
    parts = _DIGITS.split(file.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _shifted(progress: ByteProgress | None, before: int, total: int) -> ByteProgress | None:
    """Make one file's progress that of all of them."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _read_file(path: Path, progress: ByteProgress | None) -> list[Timeline]:
    head = _head(path)
    surest = max(READERS, key=lambda reader: reader.claims(path, head))
    return [
        timeline
        if len(timeline.gpu)
        else replace(timeline, notes=(*timeline.notes, surest.RECORD_GPU))
        for timeline in surest.read_timelines(path, progress)
    ]


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; none of what cannot be unpacked."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise refused(path, error) from error
    if not head.startswith(_GZIP_MAGIC):
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES)
    except zlib.error:
        return b""


def _ranked(timelines: list[Timeline]) -> list[Timeline]:
    """Sort by rank; where the recordings do not say theirs apart, number them in order."""
    if len({timeline.rank for timeline in timelines}) < len(timelines):
        return [replace(timeline, rank=rank) for rank, timeline in enumerate(timelines)]
    return sorted(timelines, key=lambda timeline: timeline.rank)
