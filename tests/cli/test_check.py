"""``tailwave check`` as its users and their monitoring call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

import tailwave.gpu.devices
from tailwave.cli import run
from tailwave.model import Health, Session, Status
from tailwave.session import load
from tests.documents import checked


class Outcome(NamedTuple):
    """How a call ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on stdout, held against its schema."""
        return checked(self.out, "check")


Check: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """Run ``tailwave check`` on a faulty device, away from the user's own references."""
    backends = {**tailwave.gpu.devices.BACKENDS, "faulty": "tests.cli.faulty"}
    monkeypatch.setattr(tailwave.gpu.devices, "BACKENDS", backends)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def call(device: str, *arguments: str, probes: tuple[str, ...] = ("copy",)) -> Outcome:
        only = [word for probe in probes for word in ("--only", probe)]
        code = run(["check", "--device", device, "--quick", *only, *arguments])
        return Outcome(code, *capsys.readouterr())

    return call


def test_a_healthy_device_exits_0(check: Check) -> None:
    """The first line is the answer."""
    outcome = check("faulty:none")
    assert outcome.code == 0
    assert outcome.out.startswith("This simulated GPU schedules as any GPU should: 1 link OK.\n")
    assert outcome.err == ""


def test_headline_figures_are_shown_as_they_are_taken(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal each headline figure is printed, above a bar; the others are not."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = check("faulty:none", probes=("banks",)).err
    assert "  banks.cycles_per_way             2 clk (simulated)\n" in shown
    assert "banks.padded" not in shown


def test_a_warning_exits_1(check: Check) -> None:
    """A link with half its lanes warns, and the line says why."""
    outcome = check("faulty:narrow-link")
    assert outcome.code == 1
    assert outcome.out.startswith(
        "This simulated GPU does not quite schedule as any GPU should: copy WARNING.\n"
    )
    assert "WARNING: the link's width under" in outcome.out


def test_a_critical_link_exits_2(check: Check) -> None:
    """Graph nodes dearer than launches defeat graphs."""
    outcome = check("faulty:dear-graphs", "--json", probes=("launch",))
    assert outcome.code == 2
    assert outcome.document["health"] == "critical"
    assert outcome.document["verdicts"][0]["health"] == "critical"


@pytest.mark.parametrize("device", ["faulty:no-driver", "sim:none-such"])
def test_no_device_exits_3_with_a_sentence(check: Check, device: str) -> None:
    """A machine without the device is UNKNOWN, whatever the reason."""
    outcome = check(device)
    assert outcome.code == 3
    assert outcome.out.startswith("UNKNOWN: There is no ")
    assert outcome.err == ""


def test_no_device_is_a_document_too(check: Check, tmp_path: Path) -> None:
    """With --json there is a document all the same, and with -o a session."""
    path = tmp_path / "session.json"
    outcome = check("faulty:no-driver", "--json", "-o", str(path))
    assert outcome.document["cut_short"] == "There is no NVIDIA driver here: install one."
    assert load(path).health == Health.UNKNOWN


def lost(check: Check, tmp_path: Path, device: str) -> tuple[Outcome, Session]:
    """Run launch and dispatch, of which the device ends the second; load what was saved."""
    path = tmp_path / "lost.json"
    outcome = check(device, "-o", str(path), probes=("launch", "dispatch", "copy"))
    return outcome, load(path)


def test_a_gpu_that_is_lost_does_not_look_healthy(check: Check, tmp_path: Path) -> None:
    """What had been measured is shown and saved; the first line and the code are the loss."""
    outcome, saved = lost(check, tmp_path, "faulty:lost")
    assert outcome.code == 2
    first_line = outcome.out.partition("\n")[0]
    assert first_line.startswith("CRITICAL: this simulated GPU was not checked to the end. The GPU")
    assert {m.name for m in saved.measurements if m.status is Status.OK} >= {
        "launch.graph_node",
        "dispatch.ns_per_cta",
    }
    healths = {verdict.link: verdict.health for verdict in saved.verdicts}
    assert healths == {
        "launch": Health.OK,
        "dispatch": Health.UNKNOWN,
        "copy": Health.UNKNOWN,
    }


def test_an_interruption_keeps_what_was_measured(check: Check, tmp_path: Path) -> None:
    """Control-C ends the run as UNKNOWN, and the session has what there was."""
    outcome, saved = lost(check, tmp_path, "faulty:interrupted")
    assert outcome.code == 3
    assert saved.cut_short == "It was interrupted."
    assert saved.verdicts[0].health == Health.OK


@pytest.mark.parametrize(
    ("device", "status", "code"),
    [
        ("faulty:memory", "unsupported", 0),
        ("faulty:denied", "denied", 0),
        ("faulty:failing", "failed", 3),
    ],
)
def test_what_cannot_be_measured_has_its_reason(
    check: Check, device: str, status: str, code: int
) -> None:
    """What the device cannot do is no fault of it; what went wrong leaves the link unknown."""
    outcome = check(device, "--json", probes=("dispatch",))
    assert outcome.code == code
    refused = [f for f in outcome.document["figures"] if f["name"] == "dispatch.fairness"]
    assert [figure["status"] for figure in refused] == [status]
    assert refused[0]["reason"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--only", "fabirc"],
            "there is no probe fabirc. Did you mean fabric? The probes are launch, dispatch, ",
        ),
        (["-o", "/none/such/session.json"], "cannot write /none/such/session.json: there is no"),
        (["--from", "a.json"], "--from goes with --save-reference"),
    ],
)
def test_usage_errors_exit_64(check: Check, arguments: list[str], sentence: str) -> None:
    """They are told before anything is measured, and never with a plug-in's code."""
    outcome = check("faulty:none", *arguments)
    assert outcome.code == 64
    assert sentence in outcome.err


def test_a_kind_of_device_that_there_is_not(check: Check) -> None:
    """A misspelt backend is a usage error."""
    assert check("cudda").code == 64


def test_a_reference_is_made_and_used(check: Check, tmp_path: Path) -> None:
    """After --save-reference the same device is compared with it, and a slower one warns.

    A simulated host has no speed of its own, so what it has its part in (a small copy) is left out.
    """
    made = check("faulty:none", "--save-reference", "--runs", "3")
    path = tmp_path / "data" / "tailwave" / "references" / "sim-h200.json"
    assert made.code == 0
    assert made.err == f"wrote {path}: 5 figures of NVIDIA H200 (simulated), 3 runs\n"
    assert {figure["name"] for figure in json.loads(path.read_text())["figures"]} == {
        "copy.h2d_pinned",
        "copy.d2h_pinned",
        "copy.both_pinned",
        "copy.link_width",
        "copy.link_generation",
    }
    alike = check("faulty:none", "--json").document
    assert alike["reference"] == f"NVIDIA H200 (simulated), 3 runs, {path}"
    assert alike["health"] == "ok"
    (verdict,) = check("faulty:narrow-link", "--json").document["verdicts"]
    bases = {c["basis"] for c in verdict["criteria"] if c["health"] != "ok"}
    assert bases == {"any-gpu", "reference"}


def test_a_reference_from_saved_sessions(check: Check, tmp_path: Path) -> None:
    """--from takes sessions instead of measuring, and -o says where the reference goes."""
    sessions = [tmp_path / f"{number}.json" for number in range(3)]
    for path in sessions:
        check("faulty:none", "-o", str(path))
    given = [word for path in sessions for word in ("--from", str(path))]
    reference = tmp_path / "h200.json"
    made = check("faulty:no-driver", "--save-reference", *given, "-o", str(reference))
    assert made.code == 0
    assert json.loads(reference.read_text())["runs"] == 3


def test_a_reference_cannot_be_made_of_nothing(check: Check) -> None:
    """Without a device there is no reference, and the code is that of a missing device."""
    outcome = check("faulty:no-driver", "--save-reference")
    assert (outcome.code, outcome.err) == (
        69,
        "tailwave: There is no NVIDIA driver here: install one.\n",
    )
