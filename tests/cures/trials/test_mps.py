"""The MPS daemon: ours alone, for as long as a run, and refused where there is another.

The driver's program is played by a script: in the foreground it shows its socket and its
environment, and runs until it is told to quit.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tailwave.cures.trials.mps import daemon, why_not
from tailwave.errors import UnavailableError

_SCRIPT = """#!{python}
import json, os, signal, sys, time
from pathlib import Path
pipes, logs = (Path(os.environ[f"CUDA_MPS_{{n}}_DIRECTORY"]) for n in ("PIPE", "LOG"))
if sys.argv[1:] == ["-f"]:
    {fault}
    seen = {{"pid": os.getpid(), "environment": dict(os.environ)}}
    Path(os.environ["SHOW"]).write_text(json.dumps(seen))
    (pipes / "control").touch()
    while not (pipes / "quit").exists():
        time.sleep(0.01)
    Path(os.environ["SHOW"] + ".quit").touch()
elif sys.stdin.read() == "quit\\n":
    (pipes / "{quit}").touch()
"""
_FAULT = '(logs / "control.log").write_text("x\\nno device\\n"); sys.exit(1)'


class Machine:
    """A folder of programs with a daemon among them, and nothing else."""

    def __init__(self, root: Path, *, fault: str = "pass", quits: bool = True) -> None:
        """Put the script where PATH points; ``fault`` is what it does instead of starting."""
        self.folder = root / "run"
        self.shown = root / "shown.json"
        self.proc = root / "proc"
        for made in (root / "bin", self.folder, self.proc):
            made.mkdir()
        program = root / "bin" / "nvidia-cuda-mps-control"
        quit_file = "quit" if quits else "deaf"
        program.write_text(_SCRIPT.format(python=sys.executable, fault=fault, quit=quit_file))
        program.chmod(0o755)
        self.environment = {
            "PATH": str(root / "bin"),
            "SHOW": str(self.shown),
            "CUDA_MPS_PIPE_DIRECTORY": str(root / "usual"),
        }

    def why_not(self, *, mig: bool = False) -> str:
        """Ask whether a daemon can be started."""
        return why_not(self.environment, mig=mig, proc=self.proc)

    def show(self) -> tuple[int, dict[str, str]]:
        """The daemon's process id and environment."""
        seen = msgspec.json.decode(self.shown.read_bytes())
        return seen["pid"], seen["environment"]

    def was_told_to_quit(self) -> bool:
        """Tell whether it ended by itself."""
        return Path(f"{self.shown}.quit").exists()


def lives(pid: int) -> bool:
    """Tell whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_daemon_of_our_own_runs_for_as_long_as_it_is_wanted(tmp_path: Path) -> None:
    """With folders of its own, of which the program is told, and which are gone afterwards."""
    machine = Machine(tmp_path)
    with daemon(machine.environment, machine.folder, 40) as added:
        pid, environment = machine.show()
        assert lives(pid)
        pipes = str(machine.folder / "mps")
        assert added == {
            "CUDA_MPS_PIPE_DIRECTORY": pipes,
            "CUDA_MPS_LOG_DIRECTORY": str(machine.folder / "mps-log"),
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "40",
        }
        assert environment["CUDA_MPS_PIPE_DIRECTORY"] == pipes
        assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" not in environment
        assert os.getpgid(pid) != os.getpgid(0)
    assert not lives(pid)
    assert machine.was_told_to_quit()
    assert [path.name for path in machine.folder.iterdir()] == ["mps.json"]


def test_it_ends_also_when_the_run_fails(tmp_path: Path) -> None:
    """And the failure is not swallowed."""
    machine = Machine(tmp_path)
    running = daemon(machine.environment, machine.folder, 40)
    running.__enter__()
    pid, _ = machine.show()
    failure = ZeroDivisionError()
    assert not running.__exit__(ZeroDivisionError, failure, None)
    assert not lives(pid)


def test_one_that_does_not_quit_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours stays behind."""
    monkeypatch.setattr("tailwave.cures.trials.mps._QUIT_S", 0.1)
    machine = Machine(tmp_path, quits=False)
    with daemon(machine.environment, machine.folder, 40):
        pid, _ = machine.show()
    assert not lives(pid)
    assert not machine.was_told_to_quit()


def test_it_ends_when_we_are_killed(tmp_path: Path) -> None:
    """The kernel tells its supervisor."""
    machine = Machine(tmp_path)
    program = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from tailwave.cures.trials.mps import daemon\n"
        "with daemon(json.loads(sys.argv[1]), Path(sys.argv[2]), 40):\n"
        "    print('up', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    asked = msgspec.json.encode(machine.environment).decode()
    ours = subprocess.Popen(
        [sys.executable, "-c", program, asked, str(machine.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert ours.stdout is not None
    assert ours.stdout.readline() == b"up\n"
    pid, _ = machine.show()
    pidfd = os.pidfd_open(pid)
    ours.send_signal(signal.SIGKILL)
    ours.communicate()
    signalled = _ended(pidfd)
    os.close(pidfd)
    assert signalled


def _ended(pidfd: int) -> bool:
    """Wait until a process has ended; False when it lives on for long."""
    return bool(select.select([pidfd], [], [], 30)[0])


def test_a_daemon_that_does_not_start_is_unavailable(tmp_path: Path) -> None:
    """With the last word of its log; nothing stays behind."""
    machine = Machine(tmp_path, fault=_FAULT)
    with (
        pytest.raises(UnavailableError, match=r"did not start \(no device\): try `nvidia-cuda-mps"),
        daemon(machine.environment, machine.folder, 40),
    ):
        pytest.fail("there is no daemon")
    assert not (machine.folder / "mps").exists()


@pytest.mark.parametrize(("chosen", "kept"), [("0,1", False), ("GPU-a", True), ("", True)])
def test_gpus_by_number_are_left_to_the_program(chosen: str, *, kept: bool, tmp_path: Path) -> None:
    """A daemon that is given them counts them anew, and the program's number means another."""
    machine = Machine(tmp_path)
    environment = {**machine.environment, "CUDA_VISIBLE_DEVICES": chosen}
    with daemon(environment, machine.folder, 40):
        _, seen = machine.show()
    assert seen.get("CUDA_VISIBLE_DEVICES") == (chosen if kept else None)


def test_where_a_daemon_can_be_started_nothing_is_said(tmp_path: Path) -> None:
    """The program is there, nobody else's daemon is."""
    assert Machine(tmp_path).why_not() == ""


def test_without_the_program_it_is_refused(tmp_path: Path) -> None:
    """It comes with the driver."""
    machine = Machine(tmp_path)
    (tmp_path / "bin" / "nvidia-cuda-mps-control").unlink()
    assert machine.why_not().startswith("MPS needs nvidia-cuda-mps-control")


def test_under_mig_it_is_refused(tmp_path: Path) -> None:
    """A daemon for an instance is the administrator's."""
    assert "divided by MIG" in Machine(tmp_path).why_not(mig=True)


def test_beside_another_daemon_it_is_refused(tmp_path: Path) -> None:
    """One that has its socket where the program would look."""
    machine = Machine(tmp_path)
    (tmp_path / "usual").mkdir()
    (tmp_path / "usual" / "control").touch()
    said = machine.why_not()
    assert str(tmp_path / "usual") in said
    assert "env:CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50" in said


def test_a_daemon_among_the_processes_is_found_too(tmp_path: Path) -> None:
    """Whatever its folder."""
    machine = Machine(tmp_path)
    for pid, name in (("12", "bash"), ("34", "nvidia-cuda-mps")):
        (machine.proc / pid).mkdir()
        (machine.proc / pid / "comm").write_text(f"{name}\n", "utf-8")
    assert "not ours to stop" in machine.why_not()
