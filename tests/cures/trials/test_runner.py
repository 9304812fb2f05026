"""Real processes under a trial: what they are given, what is kept of them, and that they end."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from tailwave.cures.catalogue.base import Task, Treatment
from tailwave.cures.trials.run import Run, why_failed
from tailwave.cures.trials.runner import ProcessRunner
from tailwave.errors import UnavailableError

ENVIRONMENT = {"PATH": os.environ["PATH"], "KEPT": "1", "GONE": "1"}
_PATIENCE_S = 20.0


def runner(folder: Path, code: str) -> ProcessRunner:
    """Return a runner of a Python program given as text."""
    return ProcessRunner((sys.executable, "-c", code), folder, ENVIRONMENT)


def ran(folder: Path, code: str) -> Run:
    """Run a Python program given as text, unchanged."""
    return runner(Path(tempfile.mkdtemp(dir=folder)), code).run(Treatment(), limit_s=_PATIENCE_S)


def test_the_end_and_the_output(tmp_path: Path) -> None:
    """Exit code, both outputs, and the last line on standard error, else on standard output."""
    run = ran(tmp_path, "import sys; print('out'); print('err\\n', file=sys.stderr); sys.exit(3)")
    assert (run.code, run.failed, run.last_line) == (3, True, "err")
    assert run.output == "out\n\nerr\n\n"
    assert ran(tmp_path, "print('first'); print('last')").last_line == "last"
    assert run.seconds > 0


def test_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    """As in subprocess; the sentence names the signal."""
    run = ran(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert run.code == -signal.SIGKILL
    assert why_failed(run) == "it was ended by SIGKILL (out of memory?)"
    assert why_failed(Run(-40, 1.0)) == "it was ended by signal 40"


def test_what_changes_is_given_to_the_child_alone(tmp_path: Path) -> None:
    """Variables are set and unset for one run; the rest of its environment stays."""
    show = "import os; print(*[os.environ.get(n) for n in ('KEPT', 'GONE', 'NEW')])"
    program = runner(tmp_path, show)
    before = dict(os.environ)
    changed = program.run(Treatment(environment={"NEW": "2", "GONE": None}))
    assert changed.output.split() == ["1", "None", "2"]
    assert program.run(Treatment()).output.split() == ["1", "1", "None"]
    assert dict(os.environ) == before


def test_the_plan_is_where_the_hook_looks(tmp_path: Path) -> None:
    """TAILWAVE_PLAN names a file with the report's path, the tasks and the profile."""
    show = "import os; print(open(os.environ['TAILWAVE_PLAN']).read())"
    program = runner(tmp_path, show)
    task = Task("compile", "a:B", {"mode": "x"})
    plain = json.loads(program.run(Treatment(tasks=(task,))).output)
    assert plain["tasks"] == [{"name": "compile", "action": "a:B", "parameters": {"mode": "x"}}]
    assert plain["profile"] is None
    profiled = json.loads(program.run(Treatment(), profile=True).output)
    assert Path(profiled["profile"].pop("trace")).parent == Path(profiled["report"]).parent
    assert profiled["profile"] == {
        "after_steps": 10, "steps": 5, "after_seconds": 3.0, "seconds": 2.0,
    }  # fmt: skip
    assert program.trace() == ""


def test_the_profile_is_found(tmp_path: Path) -> None:
    """A trace that the program wrote is the runner's."""
    write = (
        "import json, os; p = json.load(open(os.environ['TAILWAVE_PLAN']))['profile'];"
        "p and open(p['trace'], 'w').write('{}')"
    )
    program = runner(tmp_path, write)
    program.run(Treatment(), profile=True)
    program.run(Treatment())
    assert Path(program.trace()).read_text() == "{}"


def test_reports_are_read_and_torn_ones_left_out(tmp_path: Path) -> None:
    """Each process of the program leaves one; what is no report counts as none."""
    write = """
import json, os
report = json.load(open(os.environ["TAILWAVE_PLAN"]))["report"]
for name, text in (("1", '{"pid": 1, "steps": {"us": [2.0]}}'), ("2", '{"pid": '), ("3", "[]")):
    open(f"{report}-x{name}.json", "w").write(text)
"""
    run = ran(tmp_path, write)
    mine = [report for report in run.reports if report.get("pid") == 1]
    assert mine == [{"pid": 1, "steps": {"us": [2.0]}}]
    assert [process.steps.us for process in run.processes if process.pid == 1] == [(2.0,)]


def test_a_strange_report_is_left_out(tmp_path: Path) -> None:
    """The experiment reads what is in the form agreed, and nothing of a report that is not."""
    del tmp_path
    assert Run(0, 1.0, reports=({"steps": 3}, {"steps": None, "pid": 4})).processes[0].pid == 4


def test_much_output_is_bounded_and_its_end_kept(tmp_path: Path) -> None:
    """A program that prints without end fills neither memory nor disk, and is not held up."""
    run = ran(tmp_path, "for i in range(120000): print('x' * 99)\nprint('last')")
    assert run.code == 0
    assert run.last_line == "last"
    assert 4 << 20 >= len(run.output) > 3 << 20


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "it is no program, and no first line says what runs it"),
        ("#!/no/such/thing", "the interpreter that its first line names is not there"),
    ],
)
def test_a_program_that_cannot_be_started(tmp_path: Path, text: str, words: str) -> None:
    """A file that is no program is said to be so."""
    script = tmp_path / "plain"
    script.write_text(text)
    script.chmod(0o755)
    program = ProcessRunner((str(script),), tmp_path, ENVIRONMENT)
    with pytest.raises(UnavailableError, match=rf"cannot run .*plain: {words}"):
        program.run(Treatment())


def test_a_folder_that_takes_no_file(tmp_path: Path) -> None:
    """A full disk or a folder that has gone is said to be so, and what to do."""
    program = runner(tmp_path / "gone", "")
    with pytest.raises(UnavailableError, match=r"cannot write under .* \(No such .*TMPDIR"):
        program.run(Treatment())


def test_the_last_line_is_fit_to_be_shown(tmp_path: Path) -> None:
    """It is without colours, without what rings or moves the cursor, and not endless."""
    code = r"print('\x1b[31mred\x1b[0m\x07\tend\r50%\r' + 'x' * 400 + '\n\x1b[0m\n', end='')"
    assert ran(tmp_path, code).last_line == "x" * 300
    assert ran(tmp_path, r"print('a\x1b]0;title\x07\x08b')").last_line == "ab"


def test_half_a_line_is_not_kept(tmp_path: Path) -> None:
    """Where much was printed, what is kept begins with a whole line."""
    line = "step 123456.7 ms"
    kept = ran(tmp_path, f"print('{line}\\n' * 400_000, end='')").output
    assert len(kept) > 4_000_000
    assert kept.startswith(f"{line}\n")


def slept(folder: Path, trap: str) -> Run:
    """Run a shell that sets a trap and sleeps, for a second at most."""
    command = ("sh", "-c", f"trap {trap} TERM; sleep 60 & wait; wait")
    return ProcessRunner(command, folder, ENVIRONMENT).run(Treatment(), limit_s=1.0)


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """With all that it started; a program that does not listen is killed."""
    run = slept(tmp_path, "''")
    assert run.timed_out
    assert run.code == -signal.SIGKILL
    assert why_failed(run) == "it did not end within 1 s"


def test_a_run_that_takes_too_long_may_clean_up(tmp_path: Path) -> None:
    """It is asked to end before it is killed."""
    run = slept(tmp_path, "'exit 7'")
    assert (run.timed_out, run.code) == (True, 7)


LEAVES_ONE = """
import os, subprocess, sys
sleeper = "import time; time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", sleeper], start_new_session=True)
print(child.pid)
"""


def test_what_the_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    """Even in a session of its own: the next run must have the machine to itself."""
    run = ran(tmp_path, LEAVES_ONE)
    assert run.code == 0
    assert not Path("/proc", run.output.split()[0]).exists()


def test_standard_input_is_empty(tmp_path: Path) -> None:
    """A program that asks gets an end of file rather than the user's terminal."""
    assert ran(tmp_path, "import sys; print(repr(sys.stdin.read()))").output.strip() == "''"


def test_a_trial_inside_a_trial_starts_afresh(tmp_path: Path) -> None:
    """The mark by which the hook knows a program's processes apart is not inherited."""
    show = "import os; print(open('/proc/self/environ').read().count('_TRIAL_ROOT=77'))"
    environment = {**ENVIRONMENT, "TAILWAVE_TRIAL_ROOT": "77:"}
    program = ProcessRunner((sys.executable, "-c", show), tmp_path, environment)
    assert program.run(Treatment()).output.strip() == "0"
