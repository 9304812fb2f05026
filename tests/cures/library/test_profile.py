"""`tailwave.profile` around a loop, with a fake torch: marks, files, and what goes wrong."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

import tailwave
from tailwave import recordings
from tailwave.cures.library import marks
from tailwave.cures.library.profile import Profile
from tailwave.errors import UnavailableError, UsageError
from tailwave.model import Timeline
from tests.cures.hook.programs import fake_torch
from tests.places import TRACES

Torch: TypeAlias = Any  # the fake, which no type checker finds


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Torch]:
    """Return a torch with a GPU."""
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for module in fake_torch(monkeypatch):
        module.cuda.init()
        yield module


def loop(p: Profile, count: int, *, fails: bool = False) -> Profile:
    """Run a loop of so many steps under a profile."""
    with p:
        for _ in range(count):
            p.step()
        assert 1 / (not fails)
    return p


def whole(path: Path) -> Profile:
    """Profile a loop that is long enough."""
    return loop(tailwave.profile(path, steps=1, warmup=1), 99)


def test_p_step_and_tailwave_step_are_one_mark(torch: Torch, tmp_path: Path) -> None:
    """Inside the `with` either ends a step; outside neither does anything."""
    tailwave.step()
    with tailwave.profile(tmp_path / "t.json", steps=1, warmup=2) as p:
        p.step()
        tailwave.step()  # ready
        p.step()
        assert torch.profiler.events == ["prepare", "start", "+ProfilerStep#0"]
        tailwave.step()
    tailwave.step()
    p.step()
    assert torch.profiler.events[-2:] == ["-ProfilerStep#0", "stop"]


def test_marks_go_on_to_who_took_them_before(torch: Torch, tmp_path: Path) -> None:
    """Under a trial its steps and outputs are as without the profile; its profiler stands back."""
    del torch
    told: list[object] = []

    class Before:
        """A trial's recorder."""

        def step(self) -> None:
            told.append("step")

        def output(self, name: str, value: object) -> None:
            told.append((name, value))

        def stand_back(self) -> None:
            told.append("stands back")

    marks.attach(Before())
    try:
        with tailwave.profile(tmp_path / "t.json", steps=1, warmup=1) as p:
            p.step()
            p.step()
            tailwave.step()
            tailwave.output("loss", 0.5)
        tailwave.step()
    finally:
        marks.attach(None)
    assert told == ["stands back", "step", "step", "step", ("loss", 0.5), "step"]


def test_there_is_one_profile_at_a_time(torch: Torch, tmp_path: Path) -> None:
    """A second one is refused, and the first goes on."""
    with tailwave.profile(tmp_path / "t.json", steps=1, warmup=1) as p:
        with (
            pytest.raises(UsageError, match="a process has one profiler"),
            tailwave.profile(tmp_path / "u.json"),
        ):
            pass
        for _ in range(3):
            tailwave.step()
    assert p.path.exists()
    assert torch.profiler.events[-1] == "stop"


@pytest.mark.usefixtures("torch")
def test_a_loop_that_ends_too_early_is_a_warning(tmp_path: Path) -> None:
    """One sentence with what to do; the program goes on, and may ask for the diagnosis."""
    early = "the loop ended after 2 steps, before their recording"
    p = tailwave.profile(tmp_path / "t.json")
    with pytest.warns(UserWarning, match=early) as told:
        loop(p, 2)
    assert told[0].filename == __file__
    with pytest.raises(UnavailableError, match=r"give a smaller `warmup`\)\.$"):
        _ = p.diagnosis
    assert "not written" in repr(p)


def test_what_fails_in_the_profiler_is_a_warning(
    torch: Torch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile is not worth the end of a training."""

    def refuse(*_: object) -> None:
        raise RuntimeError("another is on")

    monkeypatch.setattr(torch.profiler.profile, "prepare_trace", refuse)
    with pytest.warns(UserWarning, match=r"failed \(RuntimeError: another is on\)"):
        whole(tmp_path / "t.json")
    monkeypatch.undo()
    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", refuse)
    with pytest.warns(UserWarning, match="another is on"):
        whole(tmp_path / "t.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("torch")
def test_the_programs_own_error_is_its_own(tmp_path: Path) -> None:
    """It passes, and what was recorded by then is written."""
    p = tailwave.profile(tmp_path / "t.json", warmup=1)
    with pytest.raises(ZeroDivisionError):
        loop(p, 9, fails=True)
    assert p.path.exists()


def test_of_several_ranks_each_has_its_file(
    torch: Torch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rank that the launcher gives the process."""
    del torch
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    assert whole(tmp_path / "step.json.gz").path == tmp_path / "step.rank3.json.gz"
    assert [file.name for file in tmp_path.iterdir()] == ["step.rank3.json.gz"]


def test_the_diagnosis_is_that_of_the_trace(
    torch: Torch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the file, under its name; asked for before there is one, a sentence."""
    recorded = gzip.decompress((TRACES / "decode_small.eager.json.gz").read_bytes())

    def export(_: object, path: str) -> None:
        Path(path).write_bytes(recorded)

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", export)
    monkeypatch.setattr(recordings, "diagnose", lambda *given: given)
    with tailwave.profile(tmp_path / "t.json.gz", steps=1) as p:
        with pytest.raises(UsageError, match="after the `with`"):
            _ = p.diagnosis
        for _ in range(99):
            p.step()  # an event of the fake's takes 1 ms
    (timeline,), name = cast("tuple[list[Timeline], str]", p.diagnosis)
    assert (timeline.path, timeline.plain_step_us, name) == (str(p.path), 1000.0, str(p.path))


@pytest.mark.parametrize(
    ("path", "wanted", "sentence"),
    [
        ("step.pt", {}, "a trace's name ends in .json or .json.gz, and step.pt does not."),
        ("no/step.json", {}, "there is no folder .*no: make it first."),
        ("step.json", {"steps": 0}, "steps of tailwave.profile is 1 or more, not 0."),
        ("step.json", {"warmup": 2.5}, "warmup of tailwave.profile is 1 or more, not 2.5."),
        (None, {}, "tailwave.profile takes a path, and no NoneType."),
    ],
)
@pytest.mark.usefixtures("torch")
def test_calls_that_mean_nothing(
    path: Any,  # noqa: ANN401
    wanted: dict[str, Any],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Refused before the loop."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=sentence):
        tailwave.profile(path, **wanted)


def test_without_a_gpu_there_is_nothing_to_profile(torch: Torch, tmp_path: Path) -> None:
    """Nor without torch: one sentence for both."""
    torch.cuda._up[0], torch.cuda.available[0] = False, False  # noqa: SLF001
    with pytest.raises(UnavailableError, match=r"see that torch\.cuda\.is_available"):
        tailwave.profile(tmp_path / "t.json")


@pytest.mark.usefixtures("torch")
def test_a_whole_profile_warns_of_nothing(tmp_path: Path) -> None:
    """And says where it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = whole(tmp_path / "t.json")
    assert repr(p) == f"<tailwave.profile {tmp_path}/t.json (written): 1 steps recorded>"
