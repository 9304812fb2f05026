"""``tailwave record`` on real processes, with a CUPTI that records a GPU which is not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings.readers import read
from tailwave.recordings.readers.kineto import read_trace
from tests.cures.hook.recording.recorded import Machine, machine

LAUNCHES = """
for _ in range({steps}):
    for _ in range(20):
        fake.fake_launch()
    tailwave.step()
"""


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    """Return a machine with the fakes."""
    return machine(tmp_path)


def names(timeline: Timeline, kind: HostKind) -> list[str]:
    """Return the names of the host's rows of a kind."""
    host = timeline.host
    return [timeline.names[code] for code in host.name[host.kind == kind]]


def test_a_program_becomes_a_timeline_that_is_diagnosed(here: Machine) -> None:
    """Kernels, the calls that launched them, steps and the GPU's properties are in the file."""
    ran = here.run("record", "--", *here.program(LAUNCHES.format(steps=30) + "print('said')"))
    assert ran.returncode == 0
    assert ran.stdout == "said\n"
    assert ran.stderr == "tailwave: 600 pieces of GPU work recorded in recording.tailwave\n"
    (timeline,) = read(here.folder / "recording.tailwave")
    gpu = timeline.gpu
    assert len(gpu) == 600
    assert set(gpu.kind.tolist()) == {GpuKind.KERNEL}
    assert {timeline.names[code] for code in gpu.name} == {"fake(float*, int)"}
    assert (gpu.end - gpu.start).tolist() == [1000] * 600
    assert (gpu.grid[0], gpu.block[0], gpu.registers[0], gpu.shared[0]) == (8, 8, 24, 48)
    assert timeline.host.start[gpu.launch].tolist() == (gpu.start - 2000).tolist()
    assert set(names(timeline, HostKind.RUNTIME)) == {"cuLaunchKernel"}
    assert names(timeline, HostKind.ANNOTATION) == [f"step {number}" for number in range(1, 30)]
    (device,) = timeline.devices
    assert (device.name, device.sm_count, device.registers_per_sm) == ("Fake GPU", 16, 82)
    found = here.diagnosis()
    assert found["source"]["kind"] == "record"
    assert found["steps"]["median_us"] == 200.0
    assert found["findings"][0]["code"] == "launch-bound"


def test_the_chrome_trace_reads_back_to_the_same_totals(here: Machine) -> None:
    """What --chrome writes has the same rows, times and launches as the recording."""
    here.run("record", "--chrome", "t.json", "--", *here.program(LAUNCHES.format(steps=5)))
    (ours,) = read(here.folder / "recording.tailwave")
    theirs = read_trace(here.folder / "t.json")
    for field in ("start", "end", "correlation", "stream", "grid", "block", "shared", "launch"):
        assert np.array_equal(getattr(ours.gpu, field), getattr(theirs.gpu, field)), field
    assert np.array_equal(ours.host.start, theirs.host.start)
    assert np.array_equal(ours.host.kind, theirs.host.kind)


def test_ranges_become_annotations(here: Machine) -> None:
    """An NVTX range has its name, its thread and its time."""
    here.run("record", "--", *here.program("fake.fake_launch(); fake.fake_range()"))
    (timeline,) = read(here.folder / "recording.tailwave")
    host = timeline.host
    (row,) = np.flatnonzero(host.kind == HostKind.ANNOTATION)
    assert timeline.names[host.name[row]] == "epoch"
    assert host.end[row] - host.start[row] == 1000
    assert timeline.threads[host.thread[row]].tid == "77"


def test_more_than_a_buffer_is_recorded(here: Machine) -> None:
    """Buffers that come back full are written and used again; no record is lost."""
    ran = here.run("record", "--", *here.program("for _ in range(100_000): fake.fake_launch()"))
    assert "100000 pieces of GPU work" in ran.stderr
    (timeline,) = read(here.folder / "recording.tailwave")
    assert (timeline.gpu.launch >= 0).all()
    assert np.diff(timeline.gpu.start).tolist() == [10000] * 99_999


def test_a_name_that_comes_late_is_found(here: Machine) -> None:
    """Names are looked for in ever fewer buffers, and at the end in all the others."""
    source = """
for _ in range(50_000): fake.fake_launch()
fake.fake_other_kernel()
for _ in range(10_000): fake.fake_launch()
"""
    here.run("record", "--", *here.program(source))
    (timeline,) = read(here.folder / "recording.tailwave")
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
    assert ran.returncode == code
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
    assert ran.returncode == 0
    assert "2 pieces of GPU work" in ran.stderr


def test_a_killed_program_leaves_what_was_written(here: Machine) -> None:
    """Buffers that came back before a SIGKILL are read, and a note says that the end is missing."""
    source = """
import time
for _ in range(5):
    for _ in range(20_000): fake.fake_launch()
    time.sleep(0.6)
os.kill(os.getpid(), 9)
"""
    ran = here.run("record", "--", *here.program(source))
    assert ran.returncode == 137
    (timeline,) = read(here.folder / "recording.tailwave")
    assert 16_000 <= len(timeline.gpu) < 100_000
    assert {timeline.names[code] for code in timeline.gpu.name} == {"fake(float*, int)"}
    assert "The program was killed: what it did last is not in the recording." in timeline.notes


def test_processes_are_ranks(here: Machine) -> None:
    """Each process that turned to the GPU has a timeline; one that did not has none."""
    source = """
import multiprocessing, subprocess
def work(count):
    torch.cuda._lazy_init()
    for _ in range(count): fake.fake_launch()
if __name__ == "__main__":
    fake.fake_launch()
    others = [multiprocessing.get_context("spawn").Process(target=work, args=(n,)) for n in (2, 3)]
    for one in others: one.start()
    for one in others: one.join()
    subprocess.run([sys.executable, "-c", "print('no GPU')"], check=True)
"""
    ran = here.run("record", "--chrome", "t.json", "--", *here.program(source))
    assert "6 pieces of GPU work of 3 processes recorded in" in ran.stderr
    timelines = read(here.folder / "recording.tailwave")
    assert sorted(len(timeline.gpu) for timeline in timelines) == [1, 2, 3]
    assert [timeline.rank for timeline in timelines] == [0, 1, 2]
    assert sorted(path.name for path in here.folder.glob("t*.json")) == [
        "t-0.json",
        "t-1.json",
        "t-2.json",
    ]


def test_the_launchers_ranks_are_kept(here: Machine) -> None:
    """A process whose launcher gave it a rank has that rank."""
    program = here.program("fake.fake_launch()")
    here.run("record", "--", *program, RANK="5", WORLD_SIZE="8")
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
    assert "2 pieces of GPU work recorded in" in ran.stderr


REFUSED = {
    "no Python": (["true"], "no Python process of the program turned to a GPU"),
    "no GPU": (["python3", "-c", "1"], "no Python process of the program turned to a GPU"),
    "no command": (["./nothing"], "cannot run ./nothing: No such file or directory."),
}


@pytest.mark.parametrize(("command", "words"), REFUSED.values(), ids=REFUSED)
def test_nothing_to_record_is_one_sentence(here: Machine, command: list[str], words: str) -> None:
    """It says why, and what to do; the code is that of a tool that is not here."""
    ran = here.run("record", "--", *command)
    assert ran.returncode == 69
    (line,) = ran.stderr.splitlines()
    assert words in line
    assert not list(here.folder.glob("*.tailwave"))


def test_a_refusal_of_cupti_is_one_sentence(here: Machine) -> None:
    """The program runs all the same."""
    command = here.program("print('ran')")
    ran = here.run("record", "--", *command, FAKE_CUPTI_REFUSES="1")
    assert ran.returncode == 69
    assert ran.stdout == "ran\n"
    assert ran.stderr == (
        "tailwave: nothing was recorded: CUPTI refused cuptiActivityEnable: "
        "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35).\n"
    )


def test_a_failing_program_without_a_gpu_fails_as_it_would(here: Machine) -> None:
    """Its own code comes first; that nothing was recorded is said, no other recorder advised."""
    ran = here.run("record", "--", "python3", "-c", "raise SystemExit(4)")
    assert ran.returncode == 4
    assert ran.stderr == (
        "tailwave: nothing was recorded: the program ended with exit code 4 before it turned to a "
        "GPU.\n"
    )


def test_a_folder_that_is_not_there_is_found_before_the_program_runs(here: Machine) -> None:
    """Nobody loses an hour's recording to a typing error."""
    ran = here.run("record", "-o", "no/where.tailwave", "--", *here.program("print('ran')"))
    assert (ran.returncode, ran.stdout) == (64, "")
