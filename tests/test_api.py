"""The library as its users type it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tailwave
from tailwave import api
from tailwave.cli import run
from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import Comparison, RecordingComparison, Timeline
from tailwave.session import save
from tests.documents import checked
from tests.measured import figure, session
from tests.places import DATA, TRACES
from tests.profiles.ncu.real_pages import page

EAGER = TRACES / "decode_small.eager.json.gz"
WAITS = TRACES / "syncs.item_each_layer.json.gz"
SAVED = DATA / "sessions" / "v1.json"


@pytest.fixture(name="profile")
def make_profile(tmp_path: Path) -> Path:
    """Return a page of kernel profiles, whatever it is called."""
    path = tmp_path / "kernels.txt"
    path.write_text(page("planted_faults.raw"))
    return path


def printed(*arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command prints."""
    run([str(argument) for argument in arguments])
    return capsys.readouterr().out


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.json.gz")), ids=lambda path: path.stem[:-5])
def test_a_diagnosis_is_what_the_command_prints(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of every shipped recording its dictionary is the document of --json, by the schema."""
    document = checked(printed("diagnose", "--json", trace, capsys=capsys), "diagnosis")
    assert tailwave.diagnose(trace).to_dict() == document


def test_a_diagnosis_prints_its_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What print() shows is what the command shows: plain, and 80 columns in a pipe."""
    monkeypatch.chdir(TRACES)
    print(tailwave.diagnose(tailwave.read(EAGER.name)))  # noqa: T201 - as a user does
    report = capsys.readouterr().out
    assert report == printed("diagnose", EAGER.name, capsys=capsys)
    lines = report.splitlines()
    assert lines[0].startswith("The GPU waits for launches")
    assert lines[-2:] == [
        f"next: tailwave whatif {EAGER.name} --cuda-graph --trace \\",
        "      after.json.gz",
    ]


def test_a_notebook_shows_html() -> None:
    """The same report, escaped: nothing that a recording holds can become a tag."""
    diagnosis = tailwave.diagnose(EAGER)
    (first, *others) = diagnosis.findings
    hostile = msgspec.structs.replace(first, title="<script>alert(1)</script>")
    html = msgspec.structs.replace(diagnosis, findings=(hostile, *others))._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert set(re.findall(r"</?(\w+)", html)) == {"pre", "span"}


def test_reading_says_what_was_read(profile: Path) -> None:
    """Traces and kernel profiles are told apart by what they hold, given together or alone."""
    recording = tailwave.read([EAGER, str(profile)])
    assert recording.paths == (EAGER, profile)
    assert [timeline.kind for timeline in recording.timelines] == ["kineto"]
    assert [len(file.profiles) for file in recording.profiles] == [16]
    assert repr(tailwave.read(EAGER)) == (
        f"<Recording {EAGER}: timelines 1, GPU activities 396, profiled launches 0>"
    )


def test_a_recording_is_immutable() -> None:
    """What was read can be handed on without a copy."""
    recording = tailwave.read(EAGER)
    with pytest.raises(AttributeError):
        recording.timelines = ()  # type: ignore[misc]


def test_progress_is_of_all_files() -> None:
    """Whoever shows progress gets the bytes done and their total."""
    size, told = EAGER.stat().st_size, list[tuple[int, int]]()
    tailwave.read([EAGER, EAGER], progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (size, size)  # one file, twice


def test_kernels_and_a_trace_are_diagnosed_together(profile: Path) -> None:
    """As on the command line; a profile alone has kernels and no steps, and names what is next."""
    alone = tailwave.diagnose(profile)
    assert (alone.steps, alone.next) == (
        None,
        f"tailwave explain {alone.kernels[0].findings[0].code}",
    )
    together = tailwave.diagnose([EAGER, profile])
    assert together.steps is not None
    assert len(together.kernels) == len(alone.kernels)


def test_each_change_alone_and_the_best_together() -> None:
    """Asked for nothing, every change is tried; the next command shows the best of them."""
    predictions = tailwave.whatif(WAITS)
    assert predictions.combined is not None
    assert predictions.combined.names == ("no-sync", "cuda-graph")
    assert predictions.next == (
        f"tailwave whatif {WAITS} --no-sync --cuda-graph --trace after.json.gz"
    )


def test_changes_go_by_the_names_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A what-if's own name, its short one or that of a cure; figures are keywords."""
    predictions = tailwave.whatif(WAITS, "remove-sync", "graph", sm_count=66, host_speed=2)
    assert predictions.what_ifs[0].names == ("sm-count=66", "host-speed=2", "no-sync", "cuda-graph")
    options = ("--no-sync", "--cuda-graph", "--sm-count", 66, "--host-speed", 2)
    document = printed("whatif", WAITS, "--json", *map(str, options), capsys=capsys)
    assert predictions.to_dict() == checked(document, "predictions")


def test_a_cure_that_can_be_tried_is_next() -> None:
    """After one prediction comes the trial of its cure; a change without one ends there."""
    assert tailwave.whatif(EAGER, "graph").next == "tailwave try --cure cuda-graph SCRIPT.py"
    assert tailwave.whatif(EAGER, host_speed=4).next == ""
    assert tailwave.whatif(EAGER, "no-sync").next == ""  # no change


@pytest.mark.parametrize("name", ["after.json", "after.json.gz"])
def test_the_predicted_timeline_is_a_recording(tmp_path: Path, name: str) -> None:
    """It is written as a Chrome trace, compressed as its name says, and read as any other."""
    trace = tmp_path / name
    predictions = tailwave.whatif(EAGER, "cuda-graph", trace=str(trace))
    is_compressed = trace.read_bytes().startswith(b"\x1f\x8b")
    assert is_compressed == name.endswith(".gz")
    content = gzip.decompress(trace.read_bytes()) if is_compressed else trace.read_bytes()
    assert json.loads(content)["traceEvents"]
    steps = tailwave.whatif(trace).steps
    assert steps.mean_us == pytest.approx(predictions.what_ifs[0].step_us_after, abs=0.002)


def test_sessions_and_files_are_compared_alike(tmp_path: Path) -> None:
    """What was saved, by its path, and what was just measured go together."""
    before = session(figure("l2.poll", 500.0, "ns", pollers=131))
    after = session(figure("l2.poll", 1000.0, "ns", pollers=131))
    save(before, tmp_path / "before.json")
    comparison = tailwave.compare(str(tmp_path / "before.json"), after)
    assert isinstance(comparison, Comparison)
    assert [difference.change for difference in comparison.differences] == [1.0]
    assert str(comparison).startswith("Of 1 figures the second session has 1 worse")
    assert checked(json.dumps(comparison.to_dict()), "comparison")["alike"] == 0


def test_recordings_and_paths_are_compared_alike() -> None:
    """What was read goes as well as its path; ranks are a list of files."""
    comparison = tailwave.compare(tailwave.read(EAGER), [EAGER])
    assert isinstance(comparison, RecordingComparison)
    assert comparison.difference_us == 0.0
    assert checked(json.dumps(comparison.to_dict()), "recording_comparison")["parts"] == []


def test_a_saved_session_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Its print is that of the command, also of an older file."""
    shown = tailwave.show(SAVED)
    assert f"{shown}\n" == printed("show", SAVED, capsys=capsys)
    assert shown.to_dict() == json.loads(printed("show", "--json", SAVED, capsys=capsys))


NOT_A_PATH = "give a path (a str or a pathlib.Path), or what tailwave.read gave, and no "


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("no/such/file.json", UnreadableInputError, "there is no file no/such/file.json"),
        (Path("no/such/file.json"), UnreadableInputError, "there is no file no/such/file.json"),
        ([EAGER, "none.json"], UnreadableInputError, "there is no file none.json"),
        ([], UsageError, "no file was given: name a trace"),
        (b"step.json", UsageError, f"{NOT_A_PATH}bytes."),
        (None, UsageError, f"{NOT_A_PATH}NoneType."),
        ([EAGER, 1], UsageError, f"{NOT_A_PATH}int."),
    ],
    ids=["str", "path", "one of two", "none", "bytes", "None", "int"],
)
def test_what_is_no_input_is_said(given: Any, error: type[Exception], words: str) -> None:  # noqa: ANN401 - anything
    """Every function that takes files says what is wrong with them, in one sentence."""
    for call in (tailwave.read, tailwave.diagnose, tailwave.whatif):
        with pytest.raises(error, match=f"^{re.escape(words)}"):
            call(given)


def test_nouns_that_a_function_does_not_take() -> None:
    """A timeline is part of a recording, and a diagnosis is no session."""
    timelines: Any = tailwave.read(EAGER).timelines
    for given in (timelines[0], timelines):
        assert isinstance(timelines[0], Timeline)
        with pytest.raises(UsageError, match=r"and no Timeline\.$"):
            tailwave.diagnose(given)
    diagnosis: Any = tailwave.diagnose(EAGER)
    with pytest.raises(UsageError, match=r"and no Diagnosis\.$"):
        tailwave.compare(SAVED, diagnosis)


def test_a_folder(tmp_path: Path) -> None:
    """A folder is the ranks of one run; without a recording in it there is nothing to read."""
    with pytest.raises(
        UnreadableInputError, match=f"^{tmp_path} holds no recording: put some into it"
    ):
        tailwave.read(tmp_path)
    (tmp_path / EAGER.name).write_bytes(EAGER.read_bytes())
    assert tailwave.diagnose(str(tmp_path)).source.path == str(tmp_path)
    with pytest.raises(UnreadableInputError, match="cannot read"):
        tailwave.show(tmp_path)


@pytest.mark.parametrize(
    ("changes", "figures", "words"),
    [
        (("cuda-grph",), {}, "there is no change cuda-grph; did you mean cuda-graph?"),
        (("zzz",), {}, "there is no change zzz; there are no-sync, remove-sync, no-input-stall"),
        ((), {"sm_count": 0}, "sm_count (--sm-count) is from 1 to 1,000,000, not 0."),
        ((), {"host_speed": 0.0}, "host_speed (--host-speed) is 0.001 or more, not 0.0."),
        ((), {"host_speed": float("nan")}, "host_speed (--host-speed) is 0.001 or more, not nan."),
        ((), {"trace": "out.json"}, "trace (--trace) needs at least one change"),
    ],
)
def test_changes_that_mean_nothing(
    changes: tuple[str, ...],
    figures: dict[str, Any],
    words: str,
) -> None:
    """What there is not, and what has no meaning, is said before anything is read."""
    with pytest.raises(UsageError, match=f"^{re.escape(words)}"):
        tailwave.whatif("no/such/file.json", *changes, **figures)


class SeenError(Exception):
    """Ends an analysis once it has its timelines."""


@pytest.mark.parametrize(
    ("ranks", "given", "us"),
    [
        (1, 25_700, [25_700.0]),
        (1, [25_700.0], [25_700.0]),
        (2, 25_700.0, [25_700.0, 25_700.0]),
        (2, (4600.0, 10_200.0), [4600.0, 10_200.0]),
        (2, None, [0.0, 0.0]),
    ],
)
def test_a_measured_step_is_the_timelines(
    ranks: int,
    given: float | tuple[float, ...] | None,
    us: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the file says: one for all ranks, or one each; what was read stays as it was."""
    recording = tailwave.read([EAGER, WAITS][:ranks])
    seen: list[list[float]] = []

    def keep(timelines: tuple[Timeline, ...], _: str) -> None:
        seen.append([timeline.plain_step_us for timeline in timelines])
        raise SeenError

    monkeypatch.setattr(api, "diagnose_timelines", keep)
    monkeypatch.setattr(api, "replay", keep)
    for analysis in (tailwave.diagnose, tailwave.whatif):
        with pytest.raises(SeenError):
            analysis(recording, step_time=given)
    assert seen == [us, us]
    assert [timeline.plain_step_us for timeline in recording.timelines] == [0.0] * ranks


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1.0, 2.0, 3.0], "gives 3 times, and the recording has 1 rank: give one, or one a rank."),
        ([], "gives 0 times, and the recording has 1 rank"),
        (0.0, "how long a step takes: more than 0."),
        (float("nan"), "more than 0."),
        (float("inf"), "more than 0."),
        ("25.7ms", "more than 0."),
    ],
)
def test_a_step_time_that_does_not_fit_is_a_usage_error(given: Any, sentence: str) -> None:  # noqa: ANN401
    """One sentence, of the library and the command alike."""
    for analysis in (tailwave.diagnose, tailwave.whatif):
        with pytest.raises(UsageError, match=re.escape(sentence)):
            analysis(EAGER, step_time=given)


def test_kernel_profiles_have_no_step(profile: Path) -> None:
    """A step's time means nothing to them."""
    with pytest.raises(UsageError, match="there is no trace"):
        tailwave.diagnose(profile, step_time=1.0)
