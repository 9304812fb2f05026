"""Which files are for ``read_profiles``, by their content."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from tailwave.errors import UnreadableInputError
from tailwave.profiles.ncu import holds_profiles, read_profiles
from tailwave.recordings.readers import read
from tests.profiles.ncu.pages import launched, long_page
from tests.recordings.readers.sample import EVENTS, trace, write

PAGE = long_page([(launched(), [("m", "inst", "1")])])
FILES = {
    "report": (b"NVR\0", True),
    "page": (PAGE.encode(), True),
    "PowerShell's page": (b"\xff\xfe" + PAGE.encode("utf-16-le"), True),
    "page after output": (b"step 1\n" * 9000 + PAGE.encode(), True),
    "messages": (b"==PROF== Connected to process 1\n", True),
    "trace": (b'{"traceEvents": []}', False),
    "database": (b"SQLite format 3\0", False),
}
OTHERS = {
    "text": (b"ID, Kernel Name: none\n", "is neither a report of ncu nor a CSV page of it: give a"),
    "empty": (b"", "is empty: give a .ncu-rep, or what"),
    "blank": (b"\n \n", "is empty: give a .ncu-rep, or what"),
    "compressed": (gzip.compress(PAGE.encode()), "is compressed: give what `gunzip x"),
}


@pytest.mark.parametrize(("data", "expected"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("name", ["x.ncu-rep", "x.csv", "x.json", "x"])
def test_the_content_says_what_a_file_is(
    tmp_path: Path, data: bytes, name: str, *, expected: bool
) -> None:
    """Whatever its name."""
    assert holds_profiles(write(tmp_path / name, data)) is expected


@pytest.mark.parametrize(("data", "words"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", ["x.ncu-rep", "X.CSV", "x.csv.gz", "x.ncu-rep.gz"])
def test_where_the_content_says_nothing_the_name_does(
    tmp_path: Path, data: bytes, words: str, name: str
) -> None:
    """So that who gives a page which did not come about is told what to give."""
    path = write(tmp_path / name, data)
    assert holds_profiles(path)
    assert not holds_profiles(write(tmp_path / "x.json.gz", data))
    with pytest.raises(UnreadableInputError) as caught:
        read_profiles(path)
    assert f"{path} {words.replace('x', name, 1) if '`gunzip' in words else words}" in str(
        caught.value
    )


def test_a_folder_holds_recordings(tmp_path: Path) -> None:
    """Folders are of ranks, and read so."""
    write(tmp_path / "t.json", trace(EVENTS))
    assert not holds_profiles(tmp_path)
    assert len(read(tmp_path)) == 1
    with pytest.raises(UnreadableInputError, match="is a folder: give a report or a page"):
        read_profiles(tmp_path)


def test_a_page_by_any_name_is_read(tmp_path: Path) -> None:
    """A page called .ncu-rep is a page."""
    assert read_profiles(write(tmp_path / "x.ncu-rep", PAGE.encode())).kind == "ncu-csv details"


@pytest.mark.parametrize("function", [read_profiles, holds_profiles])
def test_what_is_not_there_is_said_so(tmp_path: Path, function: object) -> None:
    """As for traces."""
    assert callable(function)
    with pytest.raises(UnreadableInputError, match="there is no file"):
        function(tmp_path / "gone.csv")
    with pytest.raises(UnreadableInputError, match="is not a file"):
        function(Path(os.devnull))


def test_what_may_not_be_read_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal by the system names the path and the reason."""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path = write(tmp_path / "x.csv", PAGE.encode())
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableInputError, match=r"cannot read .* \(Permission denied\)"):
        read_profiles(path)
