"""The whole trial, with a program whose times are computed."""

from __future__ import annotations

import pytest

from tailwave.cures.catalogue.base import Treatment
from tailwave.cures.trials.preparing import Request
from tailwave.cures.trials.run import Run
from tailwave.cures.trials.trial import experiment
from tailwave.errors import UnreadableInputError
from tailwave.model import Decision, Trial
from tests.cures.trials.script import SETTING, FakeCure, Scripted, Silent, nothing, steps_run
from tests.places import TRACES

FAST = {"half": 500.0}


@pytest.fixture(autouse=True)
def cures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a list of cures that change nothing of this machine."""
    fakes = (FakeCure("half"), FakeCure("nothing"), FakeCure("elsewhere", cannot="Not here."))
    monkeypatch.setattr("tailwave.cures.trials.preparing.CURES", fakes)


class Profiled(Scripted):
    """A program whose first run recorded a trace."""

    def __init__(self, trace: str = "") -> None:
        """Take the path of the trace."""
        super().__init__(lambda name, _: steps_run([FAST.get(name, 1000.0)] * 20))
        self._trace = trace

    def trace(self) -> str:
        """Return the path."""
        return self._trace


def tried(runner: Scripted, *specs: str, observer: Silent | None = None) -> Trial:
    """Try cures by name on a program."""
    request = Request(("prog", "x"), {}, specs, rounds=4)
    return experiment(request, SETTING, runner, observer or Silent(), nothing)


def test_a_trial_says_what_it_was_made_of() -> None:
    """Command, metric, and each outcome: what was tried first, then what was not."""
    trial = tried(Profiled(), "elsewhere", "nothing", "half", "half")
    assert trial.command == ("prog", "x")
    assert trial.metric is not None
    assert (trial.metric.unit, trial.rounds, trial.cut_short) == ("us", 3, "")
    assert [(o.cure, o.decision, o.why) for o in trial.outcomes] == [
        ("half", Decision.KEPT, "The median is better beyond noise."),
        (
            "nothing",
            Decision.NO_GAIN,
            "After 3 rounds its 95% interval does not reach a gain of 2%.",
        ),
        ("elsewhere", Decision.NOT_APPLICABLE, "Not here."),
    ]


def test_what_will_be_tried_is_said_before_it_is_applied() -> None:
    """The plan comes after the first run, and before any other."""
    observer = Silent()
    tried(Profiled(), "half", observer=observer)
    assert observer.heard[:3] == [
        "first run, as it is, profiled (0/1)",
        "planned ['half']",
        "round 1 of 4: as it is (0/13)",
    ]
    assert observer.heard[-1] == "as it is, once more (0/1)"
    assert observer.left[:2] == [None, 13.0]  # runs that took a second each so far


def test_the_first_run_is_diagnosed() -> None:
    """Its profile, as `tailwave diagnose` would."""
    trial = tried(Profiled(str(TRACES / "decode_small.eager.json.gz")), "half")
    assert trial.diagnosis is not None
    assert trial.diagnosis.findings[0].code == "launch-bound"
    assert trial.diagnosis.source.path == "the program's first run"


@pytest.mark.parametrize(
    ("trace", "note"),
    [
        ("", "the program recorded no profile of itself"),
        ("/nowhere/trace.json", "there is no file /nowhere/trace.json"),
    ],
)
def test_without_a_profile_there_is_no_diagnosis(trace: str, note: str) -> None:
    """Why is a note; cures that were named are tried all the same."""
    trial = tried(Profiled(trace), "half")
    assert trial.diagnosis is None
    assert any(note in line for line in trial.notes)
    assert trial.rounds == 3


def test_why_the_hook_recorded_nothing_is_said() -> None:
    """The program's own words; of one that reported nothing, what may be the reason."""
    report = {"profile": {"why_not": "the program did not import torch"}}
    silent = Scripted(lambda *_: Run(0, 1.0, reports=(report,)))
    assert tried(silent).notes == ("Without a diagnosis: the program did not import torch.",)
    other = Scripted(lambda *_: Run(0, 1.0))
    assert "runs no Python that could be entered" in tried(other).notes[0]


def test_a_program_that_fails_as_it_is() -> None:
    """There is nothing to try, and its last line says why."""
    program = Scripted(lambda *_: Run(2, 1.0, last_line="no data"))
    with pytest.raises(UnreadableInputError, match="nothing was tried: it exited with 2: no data"):
        tried(program, "half")


class Interrupted(Profiled):
    """A program during whose run of that number somebody presses Ctrl-C."""

    def __init__(self, at: int) -> None:
        """Say in which."""
        super().__init__()
        self._at = at

    def run(
        self, treatment: Treatment, *, profile: bool = False, limit_s: float | None = None
    ) -> Run:
        """Run it, or be interrupted."""
        if len(self.names) == self._at:
            raise KeyboardInterrupt
        return super().run(treatment, profile=profile, limit_s=limit_s)


@pytest.mark.parametrize(("at", "rounds"), [(0, 0), (1, 0), (3, 0), (4, 1), (8, 2), (10, 3)])
def test_an_interruption_keeps_what_was_learnt(at: int, rounds: int) -> None:
    """In the first run, in a round, and while the program is measured again at the end."""
    trial = tried(Interrupted(at), "half")
    assert (trial.cut_short, trial.rounds) == ("It was interrupted.", rounds)
    assert Decision.KEPT not in {outcome.decision for outcome in trial.outcomes}
    if rounds:
        assert trial.outcomes[0].effects[0].change == pytest.approx(-0.5)


def test_what_went_wrong_inside_the_program_is_said_once() -> None:
    """In the words of the process in which it did; ranks that say the same say it once."""
    reports = tuple({"pid": pid, "error": "no room for the output x"} for pid in (1, 2))
    failing = Scripted(lambda *_: Run(0, 1.0, reports=reports))
    assert tried(failing).notes[1:] == ("Inside the program: No room for the output x.",)
