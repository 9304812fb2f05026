"""What a reader is: how it says that a file is its own, and what it gives."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from tailwave.model import Timeline

# Called with the bytes that were read, and their total.
ByteProgress: TypeAlias = Callable[[int, int], None]


class Certainty(enum.IntEnum):
    """How sure a reader is that a file is its own."""

    NOT_MINE = 0
    BY_NAME = 1  # it is called as such files are
    BY_CONTENT = 2  # it holds what such files hold, and others may hold too
    BY_MAGIC = 3  # it begins as nothing else does


class Reader(Protocol):
    """Reads the recordings of one profiler; a module with these names is one.

    ``WHAT`` names its files in a sentence ("exports of nsys (.sqlite)"), ``SUFFIXES`` are the ends
    of their names in lower case, by which they are found in a folder, ``RUNS`` is where the
    profiler makes a folder for each run ("plugins/profile/*"; "" for nowhere), and ``RECORD_GPU``
    is the sentence that says how to record what the GPU did.
    """

    WHAT: str
    SUFFIXES: tuple[str, ...]
    RUNS: str
    RECORD_GPU: str

    def claims(self, path: Path, head: bytes) -> Certainty:
        """Say how sure it is of a file, from its name and its first bytes, unpacked."""

    def read_timelines(self, path: Path, progress: ByteProgress | None = None) -> list[Timeline]:
        """Read a file: a timeline for each rank or process.

        ``progress`` is called with the bytes read of the file and its size. Raises
        UnreadableInputError, in one sentence that says what to do, when nothing can be read.
        """
