"""How the trials of planted causes are judged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.examples.scripts import BENCHMARKS, load

trials = load(BENCHMARKS, "cure_trials")
CURE = trials.Planned("x", (), {"cuda-graph": ("kept",)}, "")
IDLE = trials.HEALTHY[0]


def trial(cut_short: str | None = None, **decisions: str) -> dict[str, Any]:
    """Return what `tailwave try --json` prints, in short."""
    outcomes = [
        {"cure": cure.replace("_", "-"), "decision": decision}
        for cure, decision in decisions.items()
    ]
    return {"outcomes": outcomes, "cut_short": cut_short, "diagnosis": None}


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (trial(cuda_graph="kept", compile="no gain"), True),
        (trial(cuda_graph="no gain", compile="kept"), False),
        (trial(compile="kept"), False),
        (trial("It was interrupted.", cuda_graph="kept"), False),
    ],
)
def test_a_planted_cause_needs_its_own_cure(found: dict[str, Any], right: bool) -> None:  # noqa: FBT001
    """The cure itself must be kept, in a trial that ran to its end."""
    assert trials.judged(CURE, found)["right"] is right


def test_of_several_parameters_of_a_cure_one_is_enough() -> None:
    """One that is kept makes it right, whatever became of the other."""
    found = trial()
    found["outcomes"] = [
        {"cure": "cuda-graph:a", "decision": "no gain"},
        {"cure": "cuda-graph:b", "decision": "kept"},
    ]
    assert trials.judged(CURE, found)["right"]


@pytest.mark.parametrize(
    ("last", "right"), [("no gain", True), ("harmful", True), ("kept", False), ("", False)]
)
def test_a_healthy_program_keeps_nothing(last: str, right: bool) -> None:  # noqa: FBT001
    """One false keep makes a trial wrong, and so does a cure that was not tried at all."""
    decisions = {"module_loading": "no gain", "max_connections": "no gain"}
    found = trial(**decisions, **({"allocator": last} if last else {}))
    assert trials.judged(IDLE, found)["right"] is right


def test_each_cure_has_its_own_right_decision() -> None:
    """Beside a tenant, SMs of its own must be kept, and a priority must not."""
    planned = next(one for one in trials.NOTHING if one.script == "tenant_priority")
    right = {"stream_priority": "no gain", "partition": "kept"}
    assert trials.judged(planned, trial(**right))["right"]
    assert not trials.judged(planned, trial(**right | {"stream_priority": "kept"}))["right"]
    assert not trials.judged(planned, trial(**right | {"partition": "no gain"}))["right"]


def test_scripts_can_be_chosen() -> None:
    """Only the named scripts' trials are to be done, the healthy ones as often as asked for."""
    chosen = trials.Chosen(
        Path("out.json"), ["planted", "healthy"], ["healthy_read"], 3, 6, 1, seconds=1.0
    )
    assert [task.what for task in trials.tasks(chosen)] == ["healthy_read"] * 3


def test_one_false_keep_in_all_healthy_trials_is_allowed() -> None:
    """Nine right ones of ten will do, eight will not; of the others each must be right."""

    def rows(right: int) -> list[dict[str, bool]]:
        return [{"right": number < right} for number in range(10)]

    assert trials.summary({"healthy": rows(9)})["healthy"]["as_it_should"]
    assert not trials.summary({"healthy": rows(8)})["healthy"]["as_it_should"]
    assert not trials.summary({"planted": rows(9)})["planted"]["as_it_should"]
    assert not trials.summary({"planted": []})["planted"]["as_it_should"]


def test_what_the_time_does_not_suffice_for_is_left(tmp_path: Path) -> None:
    """No task begins without time for it; the result is there all the same."""
    did: list[str] = []
    todo = [trials.Task("planted", what, lambda what=what: did.append(what)) for what in "ab"]
    chosen = trials.Chosen(tmp_path / "out.json", ["planted"], [], 1, 1, 1, seconds=-1.0)
    assert trials.work(todo, chosen, {"planted": []}) == todo
    assert did == []


@pytest.fixture
def quiet_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nvidia-smi say the same each time."""
    monkeypatch.setattr(trials, "smi", lambda *_, **__: ["as ever"])


@pytest.mark.usefixtures("quiet_gpu")
def test_a_process_that_stays_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that outlives the killed trial makes the row wrong."""
    monkeypatch.setattr(trials, "GONE_WITHIN_S", 0.2)
    child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {!r}])"
    code = child.format("import time; time.sleep(60)") + "; time.sleep(60)"
    row = trials.killed([sys.executable, "-c", code], signal.SIGKILL, 2.0)
    for pid in row["still_there"]:
        os.kill(pid, signal.SIGKILL)
    assert (row["was_running"], row["right"], row["gone_after_s"]) == (True, False, None)
    assert len(row["still_there"]) == 1


@pytest.mark.usefixtures("quiet_gpu")
def test_a_trial_that_ended_by_itself_shows_nothing() -> None:
    """Where nothing was killed, nothing counts as right."""
    row = trials.killed([sys.executable, "-c", ""], signal.SIGTERM, 30.0)
    assert (row["was_running"], row["right"]) == (False, False)
    assert row["says"] == "it had ended before it could be killed"


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    """Without nvidia-smi there is a sentence, and no result file."""
    out = tmp_path / "out.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "cure_trials.py"), "--out", str(out)],
        env={**os.environ, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, out.exists()) == (69, False)
    assert done.stderr.startswith("cure_trials.py: nvidia-smi does not answer")
