"""Reading a path: a file, a folder of ranks, or what is neither."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tailwave import readers
from tailwave.errors import UnreadableInputError
from tests.readers.sample import EVENTS, trace, write


def ranked(rank: int) -> dict[str, object]:
    """Return a trace that says its rank."""
    return trace(EVENTS, distributedInfo={"rank": rank, "world_size": 2})


def test_a_file_is_one_timeline(tmp_path: Path) -> None:
    """One file is one rank."""
    path = write(tmp_path / "t.json", trace(EVENTS))
    assert [timeline.path for timeline in readers.read(path)] == [str(path)]


def test_the_ranks_of_a_folder_are_sorted(tmp_path: Path) -> None:
    """Files say their ranks; other files of the folder are passed over."""
    write(tmp_path / "a.json", ranked(1))
    write(tmp_path / "b.JSON.GZ", gzip.compress(json.dumps(ranked(0)).encode()))
    write(tmp_path / "notes.txt", b"hello")
    (tmp_path / "folder.json").mkdir()
    timelines = readers.read(tmp_path)
    assert [(t.rank, Path(t.path).name) for t in timelines] == [(0, "b.JSON.GZ"), (1, "a.json")]


def test_ranks_that_are_not_told_apart_are_numbered(tmp_path: Path) -> None:
    """Files that do not say their ranks have them by name."""
    for name in ("b.json", "a.json"):
        write(tmp_path / name, trace(EVENTS))
    timelines = readers.read(tmp_path)
    assert [(t.rank, Path(t.path).name) for t in timelines] == [(0, "a.json"), (1, "b.json")]


def test_a_file_of_a_folder_that_is_no_recording_is_named(tmp_path: Path) -> None:
    """The recordings are read, and a note says what was not."""
    write(tmp_path / "a.json", {"results": []})
    write(tmp_path / "b.json", trace(EVENTS))
    (timeline,) = readers.read(tmp_path)
    assert len(timeline.notes) == 1
    assert "A file was left out" in timeline.notes[0]
    assert str(tmp_path / "a.json") in timeline.notes[0]


def test_progress_of_a_folder_is_that_of_all_its_files(tmp_path: Path) -> None:
    """Progress goes on from file to file, up to the size of all."""
    sizes = [write(tmp_path / n, trace(EVENTS)).stat().st_size for n in ("a.json", "b.json")]
    told: list[tuple[int, int]] = []
    readers.read(tmp_path, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (sum(sizes), sum(sizes))


@pytest.mark.parametrize("name", ["missing.json", "a" * 300, "nul\0.json", "some.json/inside"])
def test_a_path_that_leads_nowhere_is_an_error(tmp_path: Path, name: str) -> None:
    """The error names the path."""
    write(tmp_path / "some.json", trace(EVENTS))
    with pytest.raises(UnreadableInputError, match=r"there is no file|cannot read"):
        readers.read(tmp_path / name)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """What cannot be read twice is refused at once, without waiting for it."""
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(UnreadableInputError, match="is not a file"):
        readers.read(tmp_path / "pipe.json")


@pytest.mark.parametrize("name", ["", "notes.txt"])
def test_a_folder_without_recordings_is_an_error(tmp_path: Path, name: str) -> None:
    """The error says what the folder should hold."""
    if name:
        write(tmp_path / name, b"hello")
    with pytest.raises(UnreadableInputError, match=r"put \.json or \.json\.gz files into it"):
        readers.read(tmp_path)


def test_a_folder_of_bad_files_is_an_error(tmp_path: Path) -> None:
    """The error gives the first reason."""
    write(tmp_path / "a.json", b"")
    with pytest.raises(UnreadableInputError, match=r"holds no recording.*a\.json is empty"):
        readers.read(tmp_path)


@pytest.mark.parametrize("inside", [False, True])
def test_a_refusal_of_the_system_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, inside: bool
) -> None:
    """A file or folder that may not be opened is named, with the system's reason."""
    path = write(tmp_path / "t.json", trace(EVENTS))

    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir" if inside else "open", refuse)
    with pytest.raises(UnreadableInputError, match="Permission denied"):
        readers.read(tmp_path if inside else path)
