"""Reads the files that a command was given, showing how far it is."""

from __future__ import annotations

import sys
from pathlib import Path

from tailwave.api import read
from tailwave.model import Recording

# Files below this size (bytes) are read before a bar could be seen.
_BIG = 8 << 20


def read_files(files: tuple[Path, ...]) -> Recording:
    """Read files and folders, with a bar for big ones when somebody is looking."""
    if not (sys.stderr.isatty() and any(map(_is_big, files))):
        return read(files)
    from tailwave.cli.bar import Bar  # noqa: PLC0415 - only wanted for big files

    name = files[0].name if len(files) == 1 else f"{len(files)} files"
    with Bar(total=1) as bar:
        return read(files, progress=lambda done, total: bar.update(f"reading {name}", done, total))


def _is_big(file: Path) -> bool:
    return file.is_dir() or (file.is_file() and file.stat().st_size > _BIG)
