"""``tailwave record`` on real processes, with a CUPTI that records a GPU which is not there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.readers.kineto import read_trace
from tests.cures.hook.recording.recorded import Machine, built, environment


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the fakes."""
    return built(tmp_path_factory.mktemp("fakes"))


@pytest.fixture
def here(
    fakes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Machine:
    """Return a machine with the fakes."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment(fakes).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RANK", raising=False)
    return Machine(tmp_path, capfd)


def names(timeline: Timeline, kind: HostKind) -> list[str]:
    """Return the names of the host's rows of a kind."""
    host = timeline.host
    return [timeline.names[code] for code in host.name[host.kind == kind]]


LAUNCHES = """
for _ in range(30):
    for _ in range(20):
        fake.fake_launch()
    tailwave.step()
fake.fake_range()
print("said")
"""


def test_a_program_becomes_a_timeline_that_is_diagnosed(here: Machine) -> None:
    """Kernels, the calls that launched them, steps, ranges and the GPU's properties are there.

    The Chrome trace has the same rows, times and launches.
    """
    ran = here.run("record", "--chrome", "t.json", "--", *here.program(LAUNCHES))
    assert (ran.code, ran.out) == (0, "said\n")
    said = "tailwave: 600 pieces of GPU work recorded by CUPTI in recording.tailwave, t.json\n"
    assert ran.err == said
    (timeline,) = read(here.folder / "recording.tailwave")
    gpu, host = timeline.gpu, timeline.host
    assert len(gpu) == 600
    assert set(gpu.kind.tolist()) == {GpuKind.KERNEL}
    assert {timeline.names[code] for code in gpu.name} == {"fake(float*, int)"}
    assert (gpu.end - gpu.start).tolist() == [1000] * 600
    assert (gpu.grid[0], gpu.block[0], gpu.registers[0], gpu.shared[0]) == (8, 8, 24, 48)
    assert host.start[gpu.launch].tolist() == (gpu.start - 2000).tolist()
    assert set(names(timeline, HostKind.RUNTIME)) == {"cuLaunchKernel"}
    steps = [f"step {number}" for number in range(1, 30)]
    assert names(timeline, HostKind.ANNOTATION) == [*steps, "epoch"]
    row = np.flatnonzero(host.kind == HostKind.ANNOTATION)[-1]
    assert host.end[row] - host.start[row] == 1000
    assert timeline.threads[host.thread[row]].tid == "77"
    (device,) = timeline.devices
    assert (device.name, device.sm_count, device.registers_per_sm) == ("Fake GPU", 16, 82)
    found = json.loads(here.run("diagnose", "--json", "recording.tailwave").out)
    assert found["source"]["kind"] == "record"
    assert found["steps"]["median_us"] == 200.0
    assert found["findings"][0]["code"] == "launch-bound"
    theirs = read_trace(here.folder / "t.json")
    for field in ("start", "end", "correlation", "stream", "grid", "block", "shared", "launch"):
        assert np.array_equal(getattr(gpu, field), getattr(theirs.gpu, field)), field
    assert np.array_equal(host.start, theirs.host.start)
    assert np.array_equal(host.kind, theirs.host.kind)


def test_more_than_a_buffer_is_recorded(here: Machine) -> None:
    """Buffers that come back full are written and used again; no record and no name is lost.

    Names are looked for in ever fewer buffers, and at the end in all the others.
    """
    source = """
for _ in range(50_000): fake.fake_launch()
fake.fake_other_kernel()
for _ in range(10_000): fake.fake_launch()
"""
    here.run("record", "--", *here.program(source))
    (timeline,) = read(here.folder / "recording.tailwave")
    assert (timeline.gpu.launch >= 0).all()
    assert np.diff(timeline.gpu.start).tolist() == [10000] * 59_999
    codes, counts = np.unique(timeline.gpu.name, return_counts=True)
    found = dict(zip([timeline.names[code] for code in codes], counts.tolist(), strict=True))
    assert found == {"fake(float*, int)": 50_000, "other": 10_000}


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit(7)", 7),
        ("raise RuntimeError", 1),
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), 15)", 143),
    ],
)
def test_the_end_of_a_program_is_passed_on(here: Machine, ending: str, code: int) -> None:
    """However it ends, its exit code is the command's, and what it did is recorded."""
    ran = here.run("record", "--", *here.program(f"fake.fake_launch()\n{ending}"))
    assert ran.code == code
    (timeline,) = read(here.folder / "recording.tailwave")
    assert len(timeline.gpu) == 1


def test_what_follows_a_request_to_end_is_recorded_too(here: Machine) -> None:
    """A program may have a handler of its own, and work on."""
    source = """
import signal
signal.signal(signal.SIGTERM, lambda number, frame: None)
fake.fake_launch()
os.kill(os.getpid(), signal.SIGTERM)
fake.fake_launch()
"""
    ran = here.run("record", "--", *here.program(source))
    assert ran.code == 0
    assert "2 pieces of GPU work" in ran.err


def test_a_killed_program_leaves_what_was_written(here: Machine) -> None:
    """Buffers that came back before a SIGKILL are read, and a note says that the end is missing."""
    source = """
import glob, json
plan = json.load(open(os.environ["TAILWAVE_PLAN"]))
reports = os.path.join(os.path.dirname(plan["report"]), "cupti-*.json")
while not glob.glob(reports):
    for _ in range(1_000): fake.fake_launch()
os.kill(os.getpid(), 9)
"""
    ran = here.run("record", "--", *here.program(source))
    assert ran.code == 137
    (timeline,) = read(here.folder / "recording.tailwave")
    assert len(timeline.gpu) >= 16_000
    assert {timeline.names[code] for code in timeline.gpu.name} == {"fake(float*, int)"}
    assert "The program was killed: what it did last is not in the recording." in timeline.notes


def test_processes_are_ranks(here: Machine) -> None:
    """Each process that turned to the GPU has a timeline; one that did not has none."""
    source = """
import multiprocessing, subprocess
def work(count):
    for _ in range(count): fake.fake_launch()
if __name__ == "__main__":
    fake.fake_launch()
    others = [multiprocessing.get_context("spawn").Process(target=work, args=(n,)) for n in (2, 3)]
    for one in others: one.start()
    for one in others: one.join()
    subprocess.run([sys.executable, "-c", "print('no GPU')"], check=True)
"""
    ran = here.run("record", "--chrome", "t.json", "--", *here.program(source))
    assert "6 pieces of GPU work of 3 processes recorded by CUPTI in" in ran.err
    timelines = read(here.folder / "recording.tailwave")
    assert sorted(len(timeline.gpu) for timeline in timelines) == [1, 2, 3]
    assert [timeline.rank for timeline in timelines] == [0, 1, 2]
    chrome = sorted(path.name for path in here.folder.glob("t*.json"))
    assert chrome == ["t-0.json", "t-1.json", "t-2.json"]


def test_the_launchers_ranks_are_kept(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose launcher gave it a rank has that rank."""
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")
    here.run("record", "--", *here.program("fake.fake_launch()"))
    (timeline,) = read(here.folder / "recording.tailwave")
    assert (timeline.rank, timeline.world_size) == (5, 8)


def test_a_forked_child_of_a_recorded_process_leaves_its_parents_recording_alone(
    here: Machine,
) -> None:
    """What the child does is not recorded, for CUPTI does not live through a fork."""
    source = """
fake.fake_launch()
if (child := os.fork()) == 0:
    sys.exit(0)
os.waitpid(child, 0)
fake.fake_launch()
"""
    ran = here.run("record", "--", *here.program(source))
    assert "2 pieces of GPU work recorded by CUPTI in" in ran.err


TORCH = """
import tailwave, torch
for _ in range(3): tailwave.step()
torch.cuda.init()
for _ in range(40): tailwave.step()
"""


def test_pytorch_is_recorded_by_its_own_profiler(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps after the first, in a file whose name says what it is, whatever name was asked."""
    monkeypatch.setenv("FAKE_TORCH_CUDA", "13.0")
    command = here.program(TORCH, begin="")
    ran = here.run("record", "-o", "run.tailwave", "--chrome", "t.json", "--", *command)
    said = "tailwave: 30 steps recorded by PyTorch's profiler in run.json.gz, t.json\n"
    assert (ran.code, ran.err) == (0, said)
    trace = json.loads(gzip.decompress((here.folder / "run.json.gz").read_bytes()))
    assert [event for event in trace["traceEvents"] if event[0] == "+"] == [
        f"+ProfilerStep#{number}" for number in range(30)
    ]
    assert json.loads((here.folder / "t.json").read_bytes()) == trace


def test_pytorch_without_cuda_beside_another_package_is_recorded_by_cupti(here: Machine) -> None:
    """Its profiler would not see the GPU: torch loads the data, say, of a program in CuPy."""
    ran = here.run("record", "--", *here.program("import torch\nfake.fake_launch()"))
    assert ran.err == "tailwave: 1 pieces of GPU work recorded by CUPTI in recording.tailwave\n"


def test_pytorch_that_comes_after_cupti_is_recorded_by_cupti(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUPTI takes one recorder a process."""
    monkeypatch.setenv("FAKE_TORCH_CUDA", "13.0")
    source = "import torch\ntorch.cuda.init()\nfake.fake_launch()\nprint(torch.profiler.events)"
    ran = here.run("record", "--", *here.program(source))
    assert ran.out == "[]\n"
    assert ran.err == "tailwave: 1 pieces of GPU work recorded by CUPTI in recording.tailwave\n"


def test_pytorch_that_ends_too_soon_is_told(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the profiler's."""
    monkeypatch.setenv("FAKE_TORCH_CUDA", "13.0")
    source = "import tailwave, torch\ntailwave.step()\ntorch.cuda.init()\n"
    ran = here.run("record", "--", *here.program(source, begin=""))
    assert ran.code == 69
    assert ran.err == (
        "tailwave: nothing was recorded: the program ended before the recording was due.\n"
    )


REFUSED = {
    "no Python": (["true"], "no Python process of the program turned to a GPU"),
    "no GPU": (["python3", "-c", "1"], "no Python process of the program turned to a GPU"),
    "no command": (["./nothing"], "cannot run ./nothing: No such file or directory."),
}


@pytest.mark.parametrize(("command", "words"), REFUSED.values(), ids=REFUSED)
def test_nothing_to_record_is_one_sentence(here: Machine, command: list[str], words: str) -> None:
    """It says why, and what to do; the code is that of a tool that is not here."""
    ran = here.run("record", "--", *command)
    assert ran.code == 69
    (line,) = ran.err.splitlines()
    assert words in line
    assert not list(here.folder.glob("*.tailwave"))


def test_a_refusal_of_cupti_is_one_sentence(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program runs all the same."""
    monkeypatch.setenv("FAKE_CUPTI_REFUSES", "1")
    ran = here.run("record", "--", *here.program("print('ran')"))
    assert (ran.code, ran.out) == (69, "ran\n")
    assert ran.err == (
        "tailwave: nothing was recorded: CUPTI refused cuptiActivityEnable: "
        "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35).\n"
    )


def test_a_failing_program_without_a_gpu_fails_as_it_would(here: Machine) -> None:
    """Its own code comes first; that nothing was recorded is said, no other recorder advised."""
    ran = here.run("record", "--", "python3", "-c", "raise SystemExit(4)")
    assert ran.code == 4
    assert ran.err == (
        "tailwave: nothing was recorded: the program ended with exit code 4 before it turned to a "
        "GPU.\n"
    )


def test_a_folder_that_is_not_there_is_found_before_the_program_runs(here: Machine) -> None:
    """Nobody loses an hour's recording to a typing error."""
    ran = here.run("record", "-o", "no/where.tailwave", "--", *here.program("print('ran')"))
    assert (ran.code, ran.out) == (64, "")
