"""``tailwave try`` and ``tailwave fix`` as their users call them, on real programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailwave.cli import run
from tailwave.cures.trials.guards import Guards
from tailwave.errors import UNAVAILABLE, UNREADABLE, USAGE
from tests.cli.company import guards, shared, throttled
from tests.documents import checked
from tests.places import ROOT

# Its figures are computed from its environment, so that no test looks at a clock.
PROGRAM = """
import os
setting = os.environ.get("SETTING", "")
if setting == "crash":
    raise SystemExit("no such setting")
for step in range(20):
    print("step:", {"fast": 5.0, "slow": 20.0}.get(setting, 10.0), "ms")
"""
# The same for a shell, which starts sooner.
PROGRAM_FOR_SH = """
case $SETTING in
    crash) echo no such setting >&2; exit 1 ;;
    fast) ms=5.0 ;;
    slow) ms=20.0 ;;
    *) ms=10.0 ;;
esac
for step in 1 2 3 4 5 6 7 8; do echo "step: $ms ms"; done
"""
STEP = r"step: ([0-9.]+)"


@pytest.fixture
def script(tmp_path: Path) -> str:
    """Return the path of the program."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture
def shell(tmp_path: Path) -> str:
    """Return the path of the program for a shell."""
    path = tmp_path / "program.sh"
    path.write_text(PROGRAM_FOR_SH)
    return str(path)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a machine with one calm GPU, and a temporary folder of its own; return that."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tailwave.cures.trials.trial.open_guards", lambda _: guards())
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def tried(capsys: pytest.CaptureFixture[str], *arguments: str, by: str = "try") -> dict[str, Any]:
    """Run a trial with --json; return the document, held against its schema."""
    assert run([by, "--json", *arguments]) == 0
    return checked(capsys.readouterr().out, "trial")


def decisions(document: dict[str, Any]) -> dict[str, str]:
    """Return each cure's decision."""
    return {outcome["cure"]: outcome["decision"] for outcome in document["outcomes"]}


def test_each_cure_gets_its_decision(
    shell: str, machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A halved time is kept; what is slower, breaks the program or does nothing is not."""
    cures = [f"--cure=env:SETTING={x}" for x in ("fast", "slow", "none", "crash")]
    before = dict(os.environ)
    document = tried(capsys, *cures, "--metric", STEP, "--", "sh", shell, by="fix")
    assert decisions(document) == {
        "env:SETTING=fast": "kept",
        "env:SETTING=slow": "harmful",
        "env:SETTING=none": "no gain",
        "env:SETTING=crash": "harmful",
    }
    assert (document["gpu"], document["driver"]) == ("NVIDIA H200", "580.159")
    assert dict(os.environ) == before
    assert list(machine.iterdir()) == []


def test_the_report_begins_with_what_to_do(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The gain with its interval, and the line that keeps it; what was to be tried on stderr."""
    options = ["--cure", "env:SETTING=fast", "--metric", STEP]
    assert run(["fix", *options, "--", "sh", shell]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        "env:SETTING=fast: 10 -> 5 (-50%, 95% interval -50% to -50%); add:\n"
        "    export SETTING=fast\n"
    )
    assert err == "will try env:SETTING=fast: no diagnosis says what it can bring\n"


def test_fix_runs_any_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A program that is not in Python is measured by what it prints; more may be better."""
    command = ["sh", "-c", "echo speed ${SPEED:-10}"]
    options = ["--cure=env:SPEED=20", "--metric=speed ([0-9]+)", "--higher-is-better"]
    assert run(["fix", *options, "--", *command]) == 0
    assert capsys.readouterr().out.startswith("env:SPEED=20: 10 -> 20 (+100%,")


def test_options_behind_the_script_are_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything after the script is given to it."""
    path = tmp_path / "echo.py"
    path.write_text("import sys; print('rounds', sys.argv[2], sys.argv[1:])")
    document = tried(capsys, "--metric", r"rounds (\d+)", str(path), "--rounds", "99", "--json")
    assert document["command"] == [sys.executable, str(path), "--rounds", "99", "--json"]


def test_without_marks_the_wall_time_counts(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metric is said; where there is nothing to try, that is said too."""
    document = tried(capsys, script)
    assert document["metric"] == {
        "what": "wall time of the whole program, start-up included",
        "unit": "s",
        "higher_is_better": False,
    }
    assert document["rounds"] == 0


def test_marked_steps_are_the_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that marks its steps is measured by them."""
    path = tmp_path / "marks.py"
    path.write_text("import tailwave\nfor _ in range(20): tailwave.step()")
    document = tried(capsys, str(path))
    assert document["metric"] == {
        "what": "time of a step, by the program's marks and the host's clock",
        "unit": "us",
        "higher_is_better": False,
    }


def test_outputs_that_differ_are_never_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However fast the program became."""
    path = tmp_path / "outputs.py"
    path.write_text(f"{PROGRAM}\nimport tailwave\ntailwave.output('loss', len(setting))")
    document = tried(capsys, "--cure=env:SETTING=fast", "--metric", STEP, str(path))
    (outcome,) = document["outcomes"]
    assert (outcome["decision"], outcome["outputs"]["match"]) == ("harmful", "differ")


def test_save_writes_the_document(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file holds what --json prints."""
    saved = tmp_path / "trial.json"
    document = tried(capsys, "--save", str(saved), script)
    assert json.loads(saved.read_text()) == document


def test_a_trial_that_cannot_be_saved_is_printed_all_the_same(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It took minutes; the file is told of behind it."""
    assert run(["try", "--save", "/dev/full", script]) == USAGE
    out, err = capsys.readouterr()
    assert out.startswith("Nothing could be tried")
    assert err == "tailwave: cannot write /dev/full: No space left on device.\n"


def test_the_list_names_all_cures(capsys: pytest.CaptureFixture[str]) -> None:
    """--list needs no program."""
    assert run(["fix", "--list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"^cuda-graph +the step as a CUDA graph$", listed, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["try", "--cure", "wish", "SCRIPT"], USAGE, "there is no cure wish; the cures are"),
        (["try", "--cure", "env:nothing", "SCRIPT"], USAGE, "env takes NAME=VALUE"),
        (["try", "--metric", "(", "SCRIPT"], USAGE, "no regular expression"),
        (["try", "--metric", "step", "SCRIPT"], USAGE, "must have one group"),
        (["try", "--metric", "(nothing)", "SCRIPT"], UNREADABLE, "finds nothing in what"),
        (["try", "--metric", "(step)", "SCRIPT"], UNREADABLE, "finds what is no number: 'step'"),
        (["try", "--metric", "20(0?)", "SCRIPT"], UNREADABLE, "finds nothing"),
        (["try", "--higher-is-better", "SCRIPT"], USAGE, "--higher-is-better goes with --metric"),
        (["try", "--rounds", "2", "SCRIPT"], USAGE, "--rounds"),
        (["try", "--timeout", "nan", "SCRIPT"], USAGE, "a run needs an end"),
        (["try", "--timeout", "0", "SCRIPT"], USAGE, "--timeout"),
        (["try", "--save", "/nowhere/x.json", "SCRIPT"], USAGE, "cannot write /nowhere/x.json"),
        (["fix", "--cure", "host-threads:0", "--", "false"], USAGE, "a whole number from 1"),
        (["fix", "--cure", "partition:a", "--", "false"], USAGE, "takes STREAM=SMS"),
        (["fix", "--cure", "env:PATH=", "--", "false"], USAGE, "cannot set PATH"),
        (["fix", "--", "ls | wc -l"], USAGE, "sh -c 'ls | wc -l'"),
        (["fix", "--save", "x" * 5000, "--", "false"], USAGE, "cannot write"),
        (["try", "x" * 5000], UNREADABLE, "there is no file"),
        (["try", "/"], UNREADABLE, "/ is a folder: name the script in it"),
        (["try", "nowhere.py"], UNREADABLE, "there is no file nowhere.py"),
        (["try"], USAGE, "Missing argument"),
        (["fix"], USAGE, "Missing argument"),
        (["fix", "--", "no-such-program"], UNAVAILABLE, "there is no program no-such-program"),
        (["fix", "--", "false"], UNREADABLE, "fails as it is, so nothing was tried: it exited"),
        (["fix", "--timeout", "0.2", "--", "sleep", "60"], UNREADABLE, "did not end within 0.2 s"),
    ],
)
def test_what_cannot_be_tried_is_said_in_one_sentence(
    arguments: list[str], code: int, words: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the exit code of its kind, and no traceback."""
    assert run([script if word == "SCRIPT" else word for word in arguments]) == code
    out, err = capsys.readouterr()
    assert words in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.parametrize(("state", "words"), [(throttled, "held down"), (shared, "another GPU")])
def test_a_machine_that_cannot_measure_is_refused(
    state: Callable[[], Guards],
    words: str,
    script: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before the program is run at all."""
    monkeypatch.setattr("tailwave.cures.trials.trial.open_guards", lambda _: state())
    assert run(["try", script]) == UNAVAILABLE
    assert words in capsys.readouterr().err


def test_company_that_comes_later_ends_the_trial(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is kept, and the reason heads the report."""
    calm = guards()
    monkeypatch.setattr(calm, "against", iter(["", "", "", "", "", "Somebody came."]).__next__)
    monkeypatch.setattr("tailwave.cures.trials.trial.open_guards", lambda _: calm)
    document = tried(capsys, "--cure=env:SETTING=fast", "--metric", STEP, script)
    assert (document["cut_short"], document["rounds"]) == ("Somebody came.", 1)
    assert decisions(document) == {"env:SETTING=fast": "no gain"}


# A program that says that it is up, starts a child in a session of its own, and sleeps.
SLEEPER = """
import os, subprocess, sys, time
from pathlib import Path
here = Path(__file__).parent
runs = here / "runs"
runs.write_text(f"{runs.read_text() if runs.exists() else ''}x")
code = "import time; time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
(here / f"up-{len(runs.read_text())}").write_text(f"{os.getpid()} {child.pid}")
print("step: 1")
if len(runs.read_text()) >= int((here / "sleeps").read_text()):
    time.sleep(600)
"""
_PATIENCE_S = 60.0


def begun(
    folder: Path, *arguments: str, ignored: tuple[signal.Signals, ...] = ()
) -> subprocess.Popen[str]:
    """Start ``tailwave try``, which ignores these signals and no others.

    A program inherits what its parent ignores, and tests that run in the background or under nohup
    ignore interrupts or hang-ups themselves.
    """

    def as_in_a_terminal() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, "-m", "tests.cli.company", "try", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_in_a_terminal,  # noqa: PLW1509 - there is one thread
    )


class Going:
    """A trial of the sleeper that was brought to a run in which it sleeps."""

    def __init__(self, folder: Path, sleeps: int) -> None:
        """Start ``tailwave try``, and wait until the run of that number is up."""
        script = folder / "sleeper.py"
        script.write_text(SLEEPER)
        (folder / "sleeps").write_text(str(sleeps))
        self.temporary = folder / "temporary"
        options = ("--cure=env:SETTING=fast", r"--metric=step: (\d)")
        self.process = begun(folder, *options, str(script))
        up = folder / f"up-{sleeps}"
        try:
            wait_for(
                lambda: self._has_ended() or (up.exists() and len(up.read_text().split()) == 2)
            )
            assert not self._has_ended(), self.process.communicate()
        except BaseException:
            self.end()
            raise
        self.pids = [int(pid) for pid in up.read_text().split()]

    def _has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> None:
        """Kill it, if it lives."""
        self.process.kill()
        self.process.communicate()

    def nothing_left(self) -> bool:
        """Wait until neither the program nor its child is there."""
        return wait_for(lambda: not any(Path("/proc", str(pid)).exists() for pid in self.pids))


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds; fail when it never does."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return True


# The run in which a trial is ended: the first, an unchanged one, one under a cure, a later round's.
FIRST, AS_IT_IS, UNDER_A_CURE, LATER = 1, 2, 4, 9


def at(run: int, *more: object) -> object:
    """Name the moment in a test; each but one is left to the slow tests."""
    marks = () if run == UNDER_A_CURE else pytest.mark.slow
    return pytest.param(run, *more, marks=marks)


@pytest.fixture
def going(request: pytest.FixtureRequest, tmp_path: Path, machine: Path) -> Iterator[Going]:
    """Return a trial in the run whose number is given."""
    del machine
    trial = Going(tmp_path, request.param)
    yield trial
    trial.end()


@pytest.mark.parametrize(
    "going", [at(FIRST), at(AS_IT_IS), at(UNDER_A_CURE), at(LATER)], indirect=True
)
def test_a_killed_trial_leaves_nothing_running(going: Going) -> None:
    """Neither the program nor what it started outlives a tailwave that could not clean up."""
    going.process.kill()
    going.process.wait()
    assert going.nothing_left()


@pytest.mark.parametrize(
    ("going", "number"),
    [
        at(UNDER_A_CURE, signal.SIGINT),
        at(UNDER_A_CURE, signal.SIGTERM),
        at(UNDER_A_CURE, signal.SIGHUP),
        at(FIRST, signal.SIGINT),
        at(AS_IT_IS, signal.SIGINT),
        at(LATER, signal.SIGINT),
    ],
    indirect=["going"],
)
def test_an_interrupted_trial_says_what_it_learnt(going: Going, number: signal.Signals) -> None:
    """It ends the program, leaves no file, prints its report, and exits as a shell expects."""
    going.process.send_signal(number)
    out, err = going.process.communicate(timeout=_PATIENCE_S)
    assert going.process.returncode == 128 + number
    assert going.nothing_left()
    assert list(going.temporary.iterdir()) == []
    assert out.startswith("The trial ended early, so nothing is proven. It was interrupted.\n")
    assert "Traceback" not in err


def test_the_next_trial_removes_what_a_killed_one_left(
    tmp_path: Path, machine: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder has nobody who holds its lock; that of a trial that lives stays."""
    dead, alive = Going(tmp_path, FIRST), None
    dead.end()
    assert len(list(machine.iterdir())) == 1
    (tmp_path / "runs").unlink()
    (tmp_path / "up-1").unlink()
    alive = Going(tmp_path, FIRST)
    assert len(list(machine.iterdir())) == 1
    tried(capsys, script)
    assert len(list(machine.iterdir())) == 1
    alive.process.terminate()
    alive.process.communicate()
    assert list(machine.iterdir()) == []


# Says that it is up, and when it is told to end; ends only once that is allowed.
RELUCTANT = """
import signal, time
from pathlib import Path
here = Path(__file__).parent
signal.signal(signal.SIGTERM, lambda *_: (here / "asked").touch())
(here / "up").touch()
while not (here / "allowed").exists():
    time.sleep(0.02)
"""


def reluctant(folder: Path, *ignored: signal.Signals) -> subprocess.Popen[str]:
    """Start a trial of a program that takes its time to end, and wait until it is up."""
    script = folder / "reluctant.py"
    script.write_text(RELUCTANT)
    process = begun(folder, str(script), ignored=ignored)
    wait_for(lambda: process.poll() is not None or (folder / "up").exists())
    return process


def test_more_signals_than_one_do_not_keep_a_trial_from_cleaning_up(
    tmp_path: Path, machine: Path
) -> None:
    """Whoever presses Ctrl-C again finds the program ended and the folder gone all the same."""
    process = reluctant(tmp_path)
    process.send_signal(signal.SIGINT)
    wait_for((tmp_path / "asked").exists)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    (tmp_path / "allowed").touch()
    out, err = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 128 + signal.SIGINT
    assert out.startswith("The trial ended early, so nothing is proven. It was interrupted.\n")
    assert err == ""
    assert list(machine.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path, machine: Path) -> None:
    """A trial under nohup outlives its terminal."""
    del machine
    process = reluctant(tmp_path, signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    (tmp_path / "allowed").touch()
    process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM
