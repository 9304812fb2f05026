"""Reading by path: files, folders of ranks, and what is no file at all."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from tailwave.errors import UnreadableInputError
from tailwave.recordings.readers import READERS, read
from tailwave.recordings.readers.reader import Certainty
from tests.architecture import BY_NAME, listed
from tests.places import DATA, ROOT, TESTS
from tests.recordings.readers.sample import EVENTS, complete, trace, write

NAMES = sorted(listed(BY_NAME["recordings.readers"]))


def rank(number: int | None) -> dict[str, object]:
    """Make a trace that says its rank, or does not."""
    if number is None:
        return trace(EVENTS)
    return trace(EVENTS, distributedInfo={"rank": number, "world_size": 4})


def test_a_file_gives_one_timeline(tmp_path: Path) -> None:
    """A recording is the timeline of its only rank."""
    path = write(tmp_path / "t.json", rank(3))
    assert [(t.path, t.rank, t.world_size) for t in read(path)] == [(str(path), 3, 4)]


def test_each_recorder_gives_its_own_advice_where_the_gpu_is_missing(tmp_path: Path) -> None:
    """What to do differs: PyTorch's profiler has activities, nsys has options."""
    advice = [reader.RECORD_GPU for reader in READERS]
    assert len(set(advice)) == len(READERS)
    path = write(tmp_path / "t.json", trace([complete("cpu_op", "aten::mm", 0, 10)]))
    assert read(path)[0].notes == (READERS[0].RECORD_GPU,)
    assert read(write(tmp_path / "u.json", rank(0)))[0].notes == ()


def test_a_folder_is_sorted_by_rank(tmp_path: Path) -> None:
    """The ranks come from the recordings, whatever the files are called; other files stay out."""
    write(tmp_path / "a.json", rank(2))
    (tmp_path / "b.JSON.GZ").write_bytes(gzip.compress(json.dumps(rank(0)).encode()))
    write(tmp_path / "c.pt.trace.json", rank(1))
    write(tmp_path / "notes.txt", b"nothing")
    (tmp_path / "deeper.json").mkdir()
    timelines = read(tmp_path)
    names = [Path(timeline.path).name for timeline in timelines]
    assert names == ["b.JSON.GZ", "c.pt.trace.json", "a.json"]
    assert [timeline.rank for timeline in timelines] == [0, 1, 2]


@pytest.mark.parametrize("ranks", [(None, None, None), (1, 1, 0)])
def test_ranks_that_are_not_told_apart_are_numbered(
    tmp_path: Path, ranks: tuple[int | None, ...]
) -> None:
    """Recordings that give no rank, or one rank twice, are numbered by the names of the files."""
    for name, number in zip("abc", ranks, strict=True):
        write(tmp_path / f"{name}.json", rank(number))
    timelines = read(tmp_path)
    assert [Path(t.path).name for t in timelines] == ["a.json", "b.json", "c.json"]
    assert [t.rank for t in timelines] == [0, 1, 2]


def test_numbers_in_names_are_in_order_of_their_value(tmp_path: Path) -> None:
    """Recordings that give no rank are numbered as people count: 2 before 10."""
    for name in ("rank10", "rank2", "rank1"):
        write(tmp_path / f"{name}.json", rank(None))
    assert [Path(t.path).stem for t in read(tmp_path)] == ["rank1", "rank2", "rank10"]


def test_a_folder_is_read_without_the_files_that_cannot_be(tmp_path: Path) -> None:
    """What is no recording is named in a note, and the others are read."""
    other = write(tmp_path / "a.json", {"settings": 1})
    write(tmp_path / "b.json", rank(0))
    [timeline] = read(tmp_path)
    assert Path(timeline.path).name == "b.json"
    [note] = timeline.notes
    assert note.startswith(f"A file was left out: {other} is JSON without a list of events")


@pytest.mark.parametrize("files", [{}, {"readme.txt": b"x"}])
def test_a_folder_without_recordings_is_unreadable(tmp_path: Path, files: dict[str, bytes]) -> None:
    """The error says which files are looked for."""
    for name, data in files.items():
        write(tmp_path / name, data)
    with pytest.raises(UnreadableInputError, match=r"holds no recording: put .*\.json"):
        read(tmp_path)


def test_a_folder_of_nothing_readable_says_why(tmp_path: Path) -> None:
    """The first file's fault stands for all."""
    write(tmp_path / "a.json", b"hello")
    with pytest.raises(UnreadableInputError, match=r"can be read; .*neither a JSON object"):
        read(tmp_path)


def test_a_folder_may_be_called_like_a_file(tmp_path: Path) -> None:
    """A folder named x.json is a folder."""
    folder = tmp_path / "x.json"
    folder.mkdir()
    write(folder / "t.json", rank(0))
    assert len(read(folder)) == 1


def test_progress_covers_all_files_of_a_folder(tmp_path: Path) -> None:
    """Progress counts on from file to file, to the size of all of them."""
    total = sum(write(tmp_path / f"{n}.json", rank(n)).stat().st_size for n in range(3))
    told: list[tuple[int, int]] = []
    read(tmp_path, lambda done, of: told.append((done, of)))
    assert {of for _, of in told} == {total}
    assert told == sorted(told)
    assert told[-1] == (total, total)


@pytest.mark.parametrize("name", ["gone.json", "gone/t.json", "t.json/inside.json", "nul\0l.json"])
def test_a_path_that_leads_nowhere_is_unreadable(tmp_path: Path, name: str) -> None:
    """A missing file, folder, or a path through a file is said to be not there."""
    write(tmp_path / "t.json", rank(0))
    with pytest.raises(UnreadableInputError, match="there is no file"):
        read(tmp_path / name)


def test_a_name_longer_than_names_can_be_is_unreadable(tmp_path: Path) -> None:
    """The system's own refusal is passed on."""
    with pytest.raises(UnreadableInputError, match=os.strerror(errno.ENAMETOOLONG)):
        read(tmp_path / ("a" * 5000))


def test_links_in_a_circle_are_unreadable(tmp_path: Path) -> None:
    """A link to itself leads to no file."""
    link = tmp_path / "t.json"
    link.symlink_to(link)
    with pytest.raises(UnreadableInputError, match=os.strerror(errno.ELOOP)):
        read(link)


def test_a_device_and_a_pipe_are_no_files(tmp_path: Path) -> None:
    """What has no size and cannot be read twice is refused, and never waited for."""
    pipe = tmp_path / "t.json"
    os.mkfifo(pipe)
    for path in (Path(os.devnull), pipe):
        with pytest.raises(UnreadableInputError, match="is not a file: save the recording as one"):
            read(path)


@pytest.mark.parametrize("refused", ["open", "iterdir"])
def test_what_may_not_be_read_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """A refusal by the system, for a file or for a folder, names the path and the reason."""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path = tmp_path if refused == "iterdir" else write(tmp_path / "t.json", rank(0))
    monkeypatch.setattr(Path, refused, refuse)
    with pytest.raises(UnreadableInputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"cannot read {path} (Permission denied)")


def test_a_file_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    """File names may be any bytes."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.json"))
    [timeline] = read(write(path, rank(0)))
    assert len(timeline.gpu) == 2


def test_several_paths_are_the_ranks_of_one_run(tmp_path: Path) -> None:
    """Files and folders that are given together are sorted by rank, and progress counts on."""
    folder = tmp_path / "others"
    folder.mkdir()
    paths = [write(tmp_path / "b.json", rank(2)), folder]
    write(folder / "a.json", rank(1))
    told: list[tuple[int, int]] = []
    assert [t.rank for t in read(paths, lambda *done: told.append(done))] == [1, 2]
    assert told[-1][0] == told[-1][1] == sum(f.stat().st_size for f in tmp_path.rglob("*.json"))


def test_a_file_that_was_named_must_be_readable(tmp_path: Path) -> None:
    """Of several paths none is left out in silence."""
    paths = [write(tmp_path / "a.json", rank(0)), write(tmp_path / "b.json", b"hello")]
    with pytest.raises(UnreadableInputError, match=r"b\.json is neither"):
        read(paths)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("traces/waves.grid_132.json.gz", "kineto"),
        ("jax/starved.trace.json.gz", "jax"),
        ("onnxruntime/ort.json", "onnxruntime"),
    ],
)
def test_the_surest_reader_reads_whatever_the_name(tmp_path: Path, source: str, kind: str) -> None:
    """What a file holds counts for more than what it is called."""
    path = write(tmp_path / "x.sqlite", (DATA / source).read_bytes())
    assert [timeline.kind for timeline in read(path)] == [kind]


def test_no_reader_is_surer_of_nothing_than_by_name(tmp_path: Path) -> None:
    """An empty file is nobody's by its content."""
    for suffix in ("", *(suffix for reader in READERS for suffix in reader.SUFFIXES)):
        path = tmp_path / f"x{suffix}"
        assert max(reader.claims(path, b"") for reader in READERS) <= Certainty.BY_NAME


def test_another_trace_of_chromes_format_is_named_by_its_categories(tmp_path: Path) -> None:
    """The error says what the events are, and what to give instead."""
    events = [complete("v8", "V8.GC", 1, 1), complete("blink", "paint", 2, 1)]
    with pytest.raises(
        UnreadableInputError, match=r"\(2 read, of the categories v8, blink\): give a trace that"
    ):
        read(write(tmp_path / "t.json", trace(events)))


def test_a_trace_of_an_npu_is_named(tmp_path: Path) -> None:
    """Its host side is as PyTorch's, but an Ascend NPU is no GPU."""
    process = {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "Ascend Hardware"}}
    events = [process, complete("cpu_op", "aten::mm", 1, 1), complete("", "MatMul", 2, 1)]
    with pytest.raises(UnreadableInputError, match="trace of an Ascend NPU, which is no GPU"):
        read(write(tmp_path / "trace_view.json", events))


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_is_in_the_docs_and_tested(name: str) -> None:
    """A reader has a row in the table of docs/recordings.md, and tests that bear its name."""
    page = ROOT / "docs" / "recordings.md"
    assert f"| `{name}` |" in page.read_text("utf-8"), f"add a row for {name} to {page}"
    tests = TESTS / "recordings" / "readers"
    homes = (tests / f"test_{name}.py", tests / name / f"test_{name}.py")
    assert any(home.exists() for home in homes), f"add {homes[0]}"
