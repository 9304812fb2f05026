"""The pages that ncu exported of two reports of an H200, whole and in parts."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tailwave.model import KernelProfile
from tailwave.profiles.ncu import read_profiles
from tests import places
from tests.profiles.ncu.pages import rows, saved

DATA = places.DATA / "ncu"


@cache
def page(name: str) -> str:
    """Return a page as ncu wrote it: "planted_faults.raw", "article_tests.details"."""
    return gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode()


def only(text: str, wanted: Callable[[dict[str, str]], bool]) -> str:
    """Return a page with some of its rows: those that ``wanted`` says, and what heads them."""
    header, *table = csv.reader(io.StringIO(text))
    kept = [row for row in table if not row[0] or wanted(dict(zip(header, row, strict=False)))]
    return rows([header, *kept])


def launches(text: str, numbers: Collection[int]) -> str:
    """Return a page with some of its launches, by their number in the report."""
    return only(text, lambda row: int(row["ID"]) in numbers)


def profiles(text: str) -> tuple[KernelProfile, ...]:
    """Read a page."""
    with TemporaryDirectory() as folder:
        return read_profiles(saved(Path(folder), text)).profiles
