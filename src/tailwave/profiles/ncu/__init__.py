"""Reads what Nsight Compute writes: its reports, and the CSV pages of ``ncu --csv``.

Two files in, kernel profiles out: ``report`` through NVIDIA's own library, ``page`` with nothing.
"""

from __future__ import annotations

from pathlib import Path

from tailwave.errors import UnreadableInputError
from tailwave.files import is_folder, refused
from tailwave.model import KernelProfiles
from tailwave.profiles.ncu import page, report
from tailwave.profiles.ncu.once import once
from tailwave.profiles.ncu.other_output import is_page

__all__ = ["holds_profiles", "once", "read_profiles"]

# What a file is says its content. One that is empty, cut or of something else is ours by its name.
_SUFFIXES = (".csv", ".ncu-rep", ".csv.gz", ".ncu-rep.gz")
_TRACES = (b"{", b"[", b"SQLite format 3")
_HEAD_BYTES = 1 << 18  # the program's own output may stand before a page's header


def read_profiles(path: Path) -> KernelProfiles:
    """Read the kernel launches of a report, or of a page, whatever the file is called.

    Raises UnreadableInputError when there are none, UnavailableError for a report without the
    package that reads it.
    """
    if is_folder(path):
        raise UnreadableInputError(f"{path} is a folder: give a report or a page that is in it.")
    return report.read_profiles(path) if report.is_report(_head(path)) else page.read_profiles(path)


def holds_profiles(path: Path) -> bool:
    """Tell by a file's content whether ncu wrote it, by its name where that says nothing.

    Raises UnreadableInputError when there is no such file.
    """
    if is_folder(path):
        return False
    head = _head(path)
    if report.is_report(head) or is_page(head):
        return True
    return path.name.lower().endswith(_SUFFIXES) and not head.lstrip().startswith(_TRACES)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise refused(path, error) from error
