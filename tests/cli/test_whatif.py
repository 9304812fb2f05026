"""``tailwave whatif`` as its users call it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pytest

from tailwave.cli import run
from tailwave.model import Timeline
from tailwave.recordings.replay.whatif import WHATIFS
from tailwave.reports.chrome import to_chrome
from tests.builders import Trace, kernel
from tests.documents import checked
from tests.places import TRACES

WAITS = TRACES / "syncs.item_each_layer.json.gz"
OPTIONS = {f"--{name}": whatif for whatif in WHATIFS for name in (whatif.name, *whatif.cures)}


class Outcome(NamedTuple):
    """How a call ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on stdout, held against its schema."""
        return checked(self.out, "predictions")


Command: TypeAlias = Callable[..., Outcome]


@pytest.fixture(name="whatif")
def make_whatif(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command as a function of its arguments."""

    def call(*arguments: str | Path) -> Outcome:
        code = run(["whatif", *map(str, arguments)])
        return Outcome(code, *capsys.readouterr())

    return call


def _write(path: Path, timeline: Timeline) -> Path:
    path.write_bytes(to_chrome(timeline))
    return path


def _one_kernel() -> Timeline:
    return Trace().step(0, 100).launch(10, 14, kernel("gemm", 19, 29, grid=40)).build()


def test_without_a_change_every_one_is_tried(whatif: Command) -> None:
    """Each what-if is answered alone, and the best combination is found."""
    document = whatif(WAITS, "--json").document
    names = [item["names"][0] for item in document["what_ifs"]]
    assert sorted(names) == sorted(item.name for item in WHATIFS)
    assert document["combined"]["names"] == ["no-sync", "cuda-graph"]


@pytest.mark.parametrize("option", OPTIONS)
def test_each_change_can_be_asked_for(whatif: Command, option: str) -> None:
    """Every what-if is an option of its own, answered alone and without a combination."""
    outcome = whatif(WAITS, option, "--json")
    assert outcome.code == 0
    (answer,) = outcome.document["what_ifs"]
    assert answer["names"] == [OPTIONS[option].name]
    assert outcome.document["combined"] is None


def test_changes_are_made_together(whatif: Command) -> None:
    """All options at once give one answer, with the changes in the order applied."""
    outcome = whatif(WAITS, *OPTIONS, "--sm-count", "64", "--host-speed", "2", "--json")
    (answer,) = outcome.document["what_ifs"]
    expected = ["sm-count=64", "host-speed=2", *(item.name for item in WHATIFS)]
    assert answer["names"] == expected
    assert answer["step_us_after"] > 0


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.json.gz")), ids=lambda path: path.stem[:-5])
def test_every_recording_is_answered(whatif: Command, trace: Path) -> None:
    """No shipped recording is refused, and no step is longer for the best combination."""
    document = whatif(trace, "--json").document
    now = document["now"]
    assert now["low_us"] <= now["us"] <= now["high_us"]
    if document["combined"]:
        assert document["combined"]["step_us_after"] < now["us"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--sm-count", "1"),
        ("--sm-count", "132"),
        ("--sm-count", "100000"),
        ("--host-speed", "0.001"),
        ("--host-speed", "1e9"),
        ("--host-speed", "inf"),
    ],
    ids=" ".join,
)
def test_extreme_figures_are_answered(whatif: Command, arguments: tuple[str, str]) -> None:
    """The least and the most that an option takes give a finite, positive step."""
    (answer,) = whatif(WAITS, *arguments, "--json").document["what_ifs"]
    assert 0 < answer["step_us_after"] < 1e12


def test_fewer_sms_and_slower_hosts_never_help(whatif: Command) -> None:
    """Taking SMs or speed away makes no step shorter; giving them makes none longer."""
    for option, less, more in (("--sm-count", "66", "264"), ("--host-speed", "0.5", "2")):
        after = [
            whatif(WAITS, option, figure, "--json").document["what_ifs"][0]
            for figure in (less, more)
        ]
        assert after[0]["step_us_after"] >= after[0]["step_us_now"]
        assert after[1]["step_us_after"] <= after[1]["step_us_now"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--sm-count", "0"), "--sm-count"),
        (("--sm-count", "many"), "--sm-count"),
        (("--sm-count", "1000001"), "--sm-count"),
        (("--host-speed", "0"), "--host-speed"),
        (("--host-speed", "-1"), "--host-speed"),
        (("--host-speed", "1e-9"), "--host-speed"),
        (("--host-speed", "nan"), "not nan"),
        (("--no-such-change",), "--no-such-change"),
        (("--trace", "out.json"), "(--trace) needs at least one change"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_means_nothing_is_refused(
    whatif: Command, arguments: tuple[str, ...], reason: str
) -> None:
    """A call whose words are off exits with 64, names the option, and prints no answer."""
    outcome = whatif(WAITS, *arguments)
    assert (outcome.code, outcome.out) == (64, "")
    assert reason in outcome.err


def test_the_predicted_timeline_is_written(whatif: Command, tmp_path: Path) -> None:
    """The trace is one that tailwave reads, with the steps that were predicted."""
    path = tmp_path / "predicted.json"
    outcome = whatif(WAITS, "--no-sync", "--trace", path, "--json")
    assert outcome.err == f"wrote {path}; open it with https://ui.perfetto.dev\n"
    (answer,) = outcome.document["what_ifs"]
    mean = whatif(path, "--json").document["steps"]["mean_us"]
    assert mean == pytest.approx(answer["step_us_after"], abs=0.002)


@pytest.mark.parametrize("place", ["no/such/folder/out.json", "a file/out.json"])
def test_a_trace_that_cannot_be_written_is_refused(
    whatif: Command, tmp_path: Path, place: str
) -> None:
    """An unwritable path is told before anything is printed."""
    (tmp_path / "a file").write_text("")
    outcome = whatif(WAITS, "--graph", "--trace", tmp_path / place)
    assert (outcome.code, outcome.out) == (64, "")
    assert outcome.err.startswith(f"tailwave: cannot write {tmp_path / place}: ")


def _events(keep: tuple[str, ...]) -> bytes:
    document = json.loads(gzip.decompress(WAITS.read_bytes()))
    events = document["traceEvents"]
    document["traceEvents"] = [event for event in events if event.get("cat") in keep]
    return json.dumps(document).encode()


GPU_ONLY = ("kernel", "gpu_memcpy", "gpu_memset")


def test_a_recording_without_gpu_work_is_refused(whatif: Command, tmp_path: Path) -> None:
    """Where only the host was recorded there is nothing to replay."""
    path = tmp_path / "host.json"
    path.write_bytes(_events(("cpu_op", "cuda_runtime", "user_annotation")))
    outcome = whatif(path)
    assert (outcome.code, outcome.out) == (65, "")
    assert "holds no GPU activity" in outcome.err


def test_a_recording_of_the_gpu_alone_is_answered(whatif: Command, tmp_path: Path) -> None:
    """Without the host kernels can still be changed; that the host is missing is said."""
    path = tmp_path / "gpu.json"
    path.write_bytes(_events(GPU_ONLY))
    document = whatif(path, "--sm-count", "66", "--json").document
    (answer,) = document["what_ifs"]
    assert answer["step_us_after"] > answer["step_us_now"]
    assert any("No GPU event has a recorded launch" in note for note in document["notes"])


def test_one_kernel_is_answered(whatif: Command, tmp_path: Path) -> None:
    """A recording of a single kernel is a small one, not a fault."""
    path = _write(tmp_path / "one.json", _one_kernel())
    for arguments in ((), tuple(OPTIONS)):
        assert whatif(path, *arguments, "--json").code == 0


def test_a_step_of_no_length_is_refused(whatif: Command, tmp_path: Path) -> None:
    """Where the usual step lasts 0 ns there is no time to save."""
    path = _write(tmp_path / "none.json", Trace().unlaunched(kernel("gemm", 5, 5)).build())
    outcome = whatif(path)
    assert (outcome.code, outcome.out) == (65, "")
    assert "lasts 0 ns" in outcome.err


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"{}", b'{"traceEvents": []}', b'{"traceEvents": 1}']
)
def test_what_is_no_trace_is_refused(whatif: Command, tmp_path: Path, content: bytes) -> None:
    """An input that holds no events exits with 65 and one sentence."""
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    outcome = whatif(path)
    assert (outcome.code, outcome.out) == (65, "")
    assert len(outcome.err.splitlines()) == 1


def test_a_gpu_that_is_not_described_is_said(whatif: Command, tmp_path: Path) -> None:
    """Without deviceProperties SM counts change nothing, and the notes say why."""
    timeline = msgspec.structs.replace(_one_kernel(), devices=())
    path = _write(tmp_path / "unknown.json", timeline)
    document = whatif(path, "--sm-count", "66", "--json").document
    assert (document["device"]["name"], document["device"]["sm_count"]) == (None, None)
    assert any("does not describe its GPU" in note for note in document["notes"])


def test_of_several_ranks_the_slowest_is_replayed(whatif: Command, tmp_path: Path) -> None:
    """A folder holds the ranks of one run; which one is replayed is said."""
    for rank, length in enumerate((100, 300, 200)):
        trace = Trace(rank=rank).step(0, length).launch(10, 14, kernel("gemm", 19, length))
        _write(tmp_path / f"rank{rank}.json", trace.build())
    document = whatif(tmp_path, "--graph", "--json").document
    assert document["source"]["ranks"] == [0, 1, 2]
    assert document["steps"]["mean_us"] == 300.0
    assert "3 ranks; replayed is the slowest, rank 1." in document["notes"]


def test_help_explains_every_option(whatif: Command) -> None:
    """Each option of the help is followed by the question that it asks."""
    out = " ".join(whatif("--help").out.split())
    for option, item in OPTIONS.items():
        assert option in out
        assert f"What if {item.question}?" in out


@pytest.mark.parametrize("settings", [{}, {"NO_COLOR": "1"}, {"PYTHONIOENCODING": "ascii"}])
def test_piped_output_is_plain(settings: dict[str, str]) -> None:
    """In a pipe the report is ASCII without colours, 80 columns wide at most."""
    done = subprocess.run(
        [sys.executable, "-m", "tailwave", "whatif", str(WAITS)],
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        check=True,
    )
    lines = done.stdout.decode("ascii").splitlines()
    assert done.stderr == b""
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 80
