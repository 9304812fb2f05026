"""The hook in real programs: what they report, and that they run as they would without it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cures.hook.programs import INJECT, PACKAGE, trial

MARKED = "import tailwave\nfor _ in range(4): tailwave.step()\n"
# Says on standard output that it is there, then waits.
WAITING = "print('here', flush=True)\nimport time\nwhile True: time.sleep(0.01)\n"


def test_a_program_reports_its_steps_on_the_hosts_clock(tmp_path: Path) -> None:
    """Four marks are three steps, in a process that is the program's main one."""
    report = trial(tmp_path).run(MARKED).report
    assert report["main"] is True
    assert report["argv"] == [str(tmp_path / "program.py")]
    assert (report["steps"]["clock"], len(report["steps"]["us"])) == ("host", 3)
    assert (report["torch"], report["error"]) == (None, "")


def test_a_program_without_marks_has_no_steps(tmp_path: Path) -> None:
    """A report is written all the same."""
    assert trial(tmp_path).run("pass").report["steps"] == {"clock": "host", "us": []}


def test_outputs_are_reported_by_name(tmp_path: Path) -> None:
    """The last value counts, with how often there was one."""
    source = (
        "import tailwave\n"
        "tailwave.output('loss', 2.0)\n"
        "tailwave.output('loss', 1.5)\n"
        "tailwave.output('list', [1, float('nan')])\n"
    )
    outputs = trial(tmp_path).run(source).report["outputs"]
    loss = {key: outputs["loss"][key] for key in ("count", "values", "shape")}
    assert loss == {"count": 2, "values": [1.5], "shape": []}
    assert outputs["list"]["values"] == [1.0, "nan"]
    assert outputs["list"]["shape"] == [2]


def test_words_that_are_no_text_are_reported_as_far_as_they_are(tmp_path: Path) -> None:
    """A command line's bytes need be no UTF-8; the report must be."""
    source = "import sys, tailwave; sys.argv = ['a\\udcff']; tailwave.output('b\\udcff', 1.0)"
    report = trial(tmp_path).run(source).report
    assert (report["argv"], list(report["outputs"])) == (["a?"], ["b?"])


def test_an_output_that_cannot_be_read_is_an_error_in_the_report(tmp_path: Path) -> None:
    """The trial is told that something is missing."""
    source = (
        "import array, tailwave\n"
        "class Odd:\n"
        "    shape, dtype = (1,), 'x.odd'\n"
        "    def copy(self): return array.array('u', 'a').tolist()\n"
        "tailwave.output('odd', Odd())\n"
    )
    report = trial(tmp_path).run(source).report
    assert report["outputs"] == {}
    assert report["error"]


def test_an_output_that_cannot_be_compared_is_an_error_in_the_report_only(tmp_path: Path) -> None:
    """The program goes on, and the report says which type it was."""
    ran = trial(tmp_path).run("import tailwave\ntailwave.output('x', object())\nprint('on')")
    assert (ran.code, ran.out) == (0, "on\n")
    said = "the output x cannot be compared: TypeError: an output is numbers, a tensor or an array,"
    assert ran.report["error"].startswith(f"{said} not a object")


@pytest.mark.parametrize(
    ("source", "code"), [("raise SystemExit(7)", 7), ("import os; os._exit(5)", 5), ("1/0", 1)]
)
def test_a_program_ends_as_it_would(tmp_path: Path, source: str, code: int) -> None:
    """Its exit code stays, and its marks are reported."""
    ran = trial(tmp_path).run(MARKED + source)
    assert ran.code == code
    assert len(ran.report["steps"]["us"]) == 3


def test_an_exception_is_printed_as_it_would_be(tmp_path: Path) -> None:
    """The traceback names the program's line and nothing of the hook."""
    lines = trial(tmp_path).run("1/0").err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert not [line for line in lines if "tailwave" in line]


def terminated(tmp_path: Path, source: str) -> tuple[int, str]:
    """Run a program until it says that it is there, send it SIGTERM; return code and output."""
    here = trial(tmp_path)
    with subprocess.Popen(
        here.command(source), env=here.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        process.wait(60)
    assert len(here.reports()[0]["steps"]["us"]) == 3
    return process.returncode, rest


def test_sigterm_ends_a_program_by_the_signal(tmp_path: Path) -> None:
    """Its marks are reported, and it is seen to have died of the signal."""
    assert terminated(tmp_path, MARKED + WAITING) == (-signal.SIGTERM, "")


def test_sigterm_reaches_the_programs_own_handler(tmp_path: Path) -> None:
    """The handler runs after the report; the exit code is its own."""
    own = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('own'), sys.exit(9)))\n"
    )
    assert terminated(tmp_path, MARKED + own + WAITING) == (9, "own\n")


def test_a_program_sees_its_own_handlers_only(tmp_path: Path) -> None:
    """Nothing tells a program that somebody takes SIGTERM before it."""
    source = (
        "from signal import *\n"
        "print(getsignal(SIGTERM) is SIG_DFL, signal(SIGTERM, print) is SIG_DFL)\n"
        "print(getsignal(SIGTERM) is print, signal(SIGTERM, SIG_IGN) is print)\n"
        "print(getsignal(SIGTERM) is SIG_IGN, signal(SIGUSR1, print) is SIG_DFL)\n"
    )
    assert trial(tmp_path).run(source).out == "True True\n" * 3


def test_an_ignored_sigterm_is_ignored(tmp_path: Path) -> None:
    """A program that chose not to hear it lives on."""
    source = (
        "import os, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('alive')\n"
    )
    assert trial(tmp_path).run(source).out == "alive\n"


def test_a_fork_does_not_write_its_parents_report(tmp_path: Path) -> None:
    """A child that marks nothing reports nothing; the parent's steps are its own."""
    source = MARKED + "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n"
    assert len(trial(tmp_path).run(source).report["steps"]["us"]) == 3


def test_a_fork_that_marks_steps_reports_them_as_a_helper(tmp_path: Path) -> None:
    """The child has its own two steps and is not main."""
    source = (
        MARKED + "import os\npid = os.fork()\n"
        "if pid: os.waitpid(pid, 0)\n"
        "else: [tailwave.step() for _ in range(3)]\n"
    )
    found = {r["main"]: len(r["steps"]["us"]) for r in trial(tmp_path).run(source).reports}
    assert found == {True: 3, False: 2}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_processes_of_multiprocessing_are_no_main_ones(tmp_path: Path, method: str) -> None:
    """However a worker is started, its steps are told apart from the program's."""
    source = (
        "import multiprocessing, tailwave\n"
        "def work():\n    for _ in range(3): tailwave.step()\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(4): tailwave.step()\n"
        f"    child = multiprocessing.get_context({method!r}).Process(target=work)\n"
        "    child.start(); child.join(); print(child.exitcode)\n"
    )
    ran = trial(tmp_path).run(source)
    steps = [(r["main"], len(r["steps"]["us"])) for r in ran.reports if r["steps"]["us"]]
    assert sorted(steps) == [(False, 2), (True, 3)]
    assert [r["main"] for r in ran.reports].count(True) == 1
    assert ran.out == "0\n"


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    """The next one on the path runs, and is what the program finds under that name."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("mine = 'theirs'\nprint('customised')\n", "utf-8")
    ran = trial(tmp_path, paths=[other]).run("import sitecustomize; print(sitecustomize.mine)")
    assert ran.out == "customised\ntheirs\n"


def test_the_hooks_folder_is_not_on_the_programs_path(tmp_path: Path) -> None:
    """The program's search path is what it is without a trial."""
    ran = trial(tmp_path).run("import sys; print(*sys.path, sep='\\n')")
    assert str(INJECT) not in ran.out.splitlines()


def test_a_python_without_tailwave_is_hooked_and_sees_no_other_packages(tmp_path: Path) -> None:
    """The package comes from the hook's own folder; what is installed beside it stays hidden."""
    base = getattr(sys, "_base_executable", sys.executable)
    source = (
        "import importlib.util, tailwave\n"
        "tailwave.step(); tailwave.step()\n"
        "print(tailwave.__file__, importlib.util.find_spec('msgspec'))\n"
    )
    here = trial(tmp_path)
    bare = subprocess.run(
        [base, "-c", "import importlib.util as u; print(u.find_spec('msgspec'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ran = here.run(source, base)
    assert ran.out == f"{PACKAGE / '__init__.py'} {bare}"
    assert len(ran.report["steps"]["us"]) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"report": 1}', '{"tasks": [{}], "report": ""}'])
def test_a_damaged_plan_leaves_the_program_as_it_is(tmp_path: Path, text: str) -> None:
    """It runs, its marks do nothing, and a report next to the plan says what is wrong."""
    here = trial(tmp_path)
    (tmp_path / "plan.json").write_text(text, "utf-8")
    ran = here.run(MARKED + "print('ran')")
    assert (ran.code, ran.out, ran.err) == (0, "ran\n", "")


def test_a_damaged_plan_is_reported_next_to_it(tmp_path: Path) -> None:
    """Without the report's place, the plan's own folder is it."""
    here = trial(tmp_path)
    (tmp_path / "plan.json").write_text("{", "utf-8")
    assert here.run("pass").report["error"].startswith("the hook did not start: JSONDecodeError")


@pytest.mark.parametrize(
    "plan",
    [
        '{"report": "../report", "tasks": []}',
        (
            '{"report": "HERE/report", "tasks": [], "profile": {"trace": "trace.json", '
            '"after_steps": 1, "steps": 1, "after_seconds": 1, "seconds": 1}}'
        ),
    ],
)
def test_a_plan_whose_paths_are_not_absolute_is_damaged(tmp_path: Path, plan: str) -> None:
    """Nothing may be written into the folder that the program works in."""
    here = trial(tmp_path)
    working = tmp_path / "working"
    working.mkdir()
    (tmp_path / "plan.json").write_text(plan.replace("HERE", str(tmp_path)), "utf-8")
    moved = f"import os; os.chdir({str(working)!r})\n"
    ran = here.run(moved + MARKED)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert ran.report["error"].startswith("the hook did not start: ValueError: ")
    assert ran.report["error"].endswith(" is no absolute path")
    assert list(working.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "plan.json",
        "program.py",
        f"report-{ran.report['pid']}.json",
        "working",
    ]
    assert list(tmp_path.parent.glob(f"*-{ran.report['pid']}.json")) == []


@pytest.mark.parametrize("place", ["", "gone.json"])
def test_a_missing_plan_beside_the_program_is_not_reported_there(
    tmp_path: Path, place: str
) -> None:
    """The folder of a path that is not absolute is the one that the program works in."""
    here = trial(tmp_path)
    here.environment["TAILWAVE_PLAN"] = place
    ran = here.run(MARKED)
    assert (ran.code, ran.out, ran.err, ran.reports) == (0, "", "", [])


def test_a_report_that_cannot_be_written_leaves_the_program_as_it_is(tmp_path: Path) -> None:
    """No word of it on the program's own output, and no other exit code."""
    here = trial(tmp_path)
    plan = tmp_path / "plan.json"
    plan.write_text('{"report": "/nowhere/at/all", "tasks": []}', "utf-8")
    ran = here.run(MARKED + "raise SystemExit(3)")
    assert (ran.code, ran.out, ran.err, ran.reports) == (3, "", "", [])


def test_without_a_plan_nothing_happens(tmp_path: Path) -> None:
    """The folder on PYTHONPATH alone starts no hook."""
    here = trial(tmp_path)
    del here.environment["TAILWAVE_PLAN"]
    assert here.run("import sys; print('tailwave' in sys.modules)").out == "False\n"


def test_the_hook_itself_loads_the_standard_library_alone(tmp_path: Path) -> None:
    """A program's Python need have none of tailwave's packages, and waits for none."""
    names = ("numpy", "msgspec", "click", "rich", "torch")
    ran = trial(tmp_path, {"cuda-graph": {}}).run(
        f"import sys; print([n for n in {names!r} if n in sys.modules])"
    )
    assert ran.out == "[]\n"


def test_a_program_that_is_killed_has_its_steps_from_a_second_of_marks(tmp_path: Path) -> None:
    """What SIGKILL allows no last word is known by the report written in mid-run."""
    here = trial(tmp_path)
    source = (
        "import tailwave, time, os, signal\n"
        "real = time.monotonic\n"
        "tailwave.step(); tailwave.step()\n"
        "time.monotonic = lambda: real() + 2\n"
        "tailwave.step()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = here.run(source)
    assert ran.code == -signal.SIGKILL
    assert len(ran.report["steps"]["us"]) == 2
    assert not list(tmp_path.glob(".*.part"))


def test_modules_beside_the_program_are_the_ones_it_gets(tmp_path: Path) -> None:
    """The hook runs first, and what it has imported is no longer looked for beside the script."""
    names = (
        "multiprocessing, queue, random, secrets, socket, sqlite3, statistics, tempfile, logging"
    )
    beside = tmp_path / "beside"
    beside.mkdir()
    for name in names.split(", "):
        (beside / f"{name}.py").write_text("MINE = True")
    source = f"import sys; sys.path[0] = {str(beside)!r}\nimport {names}\n"
    ran = trial(tmp_path).run(f"{source}print([m.MINE for m in ({names})].count(True))")
    assert (ran.code, ran.out) == (0, "9\n")
