"""Which steps are recorded and which are timed, on a fake torch whose GPU has its own clock."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.cures.library import torch_profile
from tailwave.cures.library.torch_profile import TorchProfile, is_steady, latest
from tests.cures.hook.programs import fake_torch

Torch: TypeAlias = Any  # the fake, which no type checker finds
STEPS_OF_TWO = ["+ProfilerStep#0", "-ProfilerStep#0", "+ProfilerStep#1", "-ProfilerStep#1"]
RECORDED = ["prepare", "start", *STEPS_OF_TWO, "stop"]


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Torch]:
    """Return a torch whose GPU is up: a mark's event takes 1 ms of its clock."""
    for name in ("RANK", "WORLD_SIZE", "TEARDOWN_CUPTI"):
        monkeypatch.delenv(name, raising=False)
    for module in fake_torch(monkeypatch):
        module.cuda.init()
        yield module


def run(torch: Torch, profile: TorchProfile, *steps_ms: float) -> None:
    """Mark steps that take so long."""
    for step in steps_ms:
        torch.cuda._clock[0] += step - 1.0  # noqa: SLF001  the event's own
        profile.mark()


def made(torch: ModuleType, path: Path, warmup: int = 30) -> TorchProfile:
    """Record two steps."""
    return TorchProfile(torch, path, steps=2, warmup=warmup)


def written(path: Path) -> Any:  # noqa: ANN401  a trace
    """Return the trace."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(text)


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_plain_steps_are_timed_before_and_after(torch: Torch, tmp_path: Path, name: str) -> None:
    """A window each; the steps in which the profiler comes and goes count for neither."""
    torch.version.cuda = "12.6"
    profile = made(torch, tmp_path / name)
    run(torch, profile, 900.0, 80.0, *[10.0] * 14)  # the window is twelve steps
    assert torch.profiler.events == ["prepare"]
    run(torch, profile, 500.0, 40.0, 40.0, 300.0, *[11.0] * 11)
    assert not profile.written
    run(torch, profile, 11.0)
    assert (profile.written, profile.steps) == (True, 2)
    trace = written(tmp_path / name)
    assert trace["traceEvents"] == RECORDED
    assert trace["tailwave"] == {
        "plain_step_us": 10500.0,
        "plain_before_us": 10000.0,
        "steady": True,
        "plain_after_us": 11000.0,
        "steps_timed": 24,
    }
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_short_steps_are_timed_for_longer(torch: Torch, tmp_path: Path) -> None:
    """A window of steps of 2 ms is 50 ms, and not twelve of them."""
    profile = made(torch, tmp_path / "t.json", warmup=99)
    run(torch, profile, *[2.0] * 27)
    assert torch.profiler.events == []
    run(torch, profile, 2.0)
    assert torch.profiler.events == ["prepare"]


def test_steps_that_do_not_become_steady_are_recorded_all_the_same(
    torch: Torch,
    tmp_path: Path,
) -> None:
    """After the warm-up that was given; its latter half is timed, and said not to be steady."""
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[float(n) for n in range(10, 210, 10)] * 2)
    profile.finish()
    measured = written(tmp_path / "t.json")["tailwave"]
    assert (measured["plain_before_us"], measured["steady"]) == (92142.857, False)
    assert measured["steps_timed"] == 14 + 6


def test_cupti_that_stays_makes_later_steps_no_measure(torch: Torch, tmp_path: Path) -> None:
    """Before CUDA 12.6 it cannot leave: plain steps are those before, the others are only said."""
    torch.version.cuda = "12.4"
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[10.0] * 16, *[10.0] * 4, *[14.0] * 13)
    measured = written(tmp_path / "t.json")["tailwave"]
    assert (measured["plain_step_us"], measured["plain_after_us"]) == (10000.0, 14000.0)


def test_what_the_user_says_of_cupti_stays(
    torch: Torch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The variable is Kineto's, and somebody may have reasons."""
    monkeypatch.setenv("TEARDOWN_CUPTI", "0")
    torch.version.cuda = "13.0"
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[10.0] * 16, *[10.0] * 4, *[14.0] * 13)
    assert written(tmp_path / "t.json")["tailwave"]["plain_step_us"] == 10000.0


def test_a_loop_that_ends_early_leaves_what_there_is(torch: Torch, tmp_path: Path) -> None:
    """In the recording: its whole steps and the time before; no time after it."""
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[10.0] * 16, 10.0, 10.0)
    profile.finish()
    assert (profile.written, profile.steps) == (True, 1)
    trace = written(tmp_path / "t.json")
    assert trace["traceEvents"] == RECORDED
    assert "plain_after_us" not in trace["tailwave"]


@pytest.mark.parametrize(("steps", "events"), [(15, []), (16, ["prepare", "start", "stop"])])
def test_a_loop_that_ends_before_its_recording_leaves_no_trace(
    torch: Torch,
    tmp_path: Path,
    steps: int,
    events: list[str],
) -> None:
    """Be the profiler ready or not: it is ended."""
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[10.0] * steps)
    profile.finish()
    assert (profile.written, torch.profiler.events) == (False, events)
    assert list(tmp_path.iterdir()) == []


def test_after_the_trace_a_mark_does_nothing(torch: Torch, tmp_path: Path) -> None:
    """No event, no further trace."""
    profile = made(torch, tmp_path / "t.json")
    run(torch, profile, *[10.0] * 33)
    (tmp_path / "t.json").unlink()
    before = torch.cuda._clock[0]  # noqa: SLF001
    for _ in range(99):
        profile.mark()
    profile.finish()
    assert torch.cuda._clock[0] == before  # noqa: SLF001
    assert list(tmp_path.iterdir()) == []


def test_synchronisations_are_recorded_where_torch_can(torch: Torch, tmp_path: Path) -> None:
    """By its experimental configuration; a torch that has none records without."""
    assert torch.profiler.configs == []
    torch._C._profiler = SimpleNamespace(  # noqa: SLF001
        _ExperimentalConfig=lambda *, enable_cuda_sync_events: ("sync", enable_cuda_sync_events)
    )
    run(torch, made(torch, tmp_path / "t.json", warmup=1), 1.0)
    assert torch.profiler.configs == [("sync", True)]


def test_a_recording_is_no_longer_than_a_while(
    torch: Torch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of minutes fill a disk: the first ends the recording."""
    profile = made(torch, tmp_path / "t.json", warmup=1)
    run(torch, profile, 1.0, 1.0)
    now = time.monotonic()
    monkeypatch.setattr(
        torch_profile, "time", SimpleNamespace(monotonic=lambda: now + torch_profile.LONGEST_S + 1)
    )
    run(torch, profile, 1.0)
    assert torch.profiler.events[-2:] == ["-ProfilerStep#0", "stop"]


def test_after_a_long_pause_as_much_time_is_left_out(
    torch: Torch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A data loader has filled its queue in it; but no more than sixteen steps are."""
    clock = [100.0]
    monkeypatch.setattr(torch_profile, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slowly(_: object) -> None:
        clock[0] += 5.0

    monkeypatch.setattr(torch.profiler.profile, "prepare_trace", slowly)
    for step_s, left_out in ((2.0, 3), (0.001, 16)):
        torch.profiler.events.clear()
        profile = TorchProfile(torch, tmp_path / "t.json", steps=1, warmup=20)
        run(torch, profile, *[10.0] * 16)
        for _ in range(left_out - 1):
            clock[0] += step_s
            profile.mark()
        assert torch.profiler.events == []
        clock[0] += step_s
        profile.mark()
        assert torch.profiler.events == ["start", "+ProfilerStep#0"]


def test_ranks_do_the_same_at_the_same_step(
    torch: Torch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever their own steps take: what one waits for, another may be recording."""
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for steps in ([10.0] * 24, [float(n) for n in range(1, 25)]):
        torch.profiler.events.clear()
        profile = made(torch, tmp_path / "t.json")
        run(torch, profile, *steps[:-1])
        assert torch.profiler.events == []
        run(torch, profile, steps[-1], 10.0, 10.0, 10.0)
        assert torch.profiler.events == ["prepare"]
        run(torch, profile, 10.0)
        assert torch.profiler.events == ["prepare", "start", "+ProfilerStep#0"]
        run(torch, profile, 10.0, 10.0, *[10.0] * 4, *steps[:-2])
        assert not profile.written
        run(torch, profile, steps[-1])
        assert profile.written


def test_what_fails_once_is_not_tried_again(
    torch: Torch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another profiler may be running; the loop's next steps are as plain as can be."""

    def refuse(_: object) -> None:
        raise RuntimeError("already on")

    monkeypatch.setattr(torch.profiler.profile, "prepare_trace", refuse)
    profile = made(torch, tmp_path / "t.json", warmup=1)
    with pytest.raises(RuntimeError, match="already on"):
        run(torch, profile, 1.0)
    run(torch, profile, *[1.0] * 99)
    assert torch.profiler.events == []


times = st.lists(st.floats(0.01, 1e7), max_size=80)


@given(times)
def test_a_window_is_the_latest_steps_and_no_longer_than_need_be(us: list[float]) -> None:
    """Twelve steps and 50 ms at least; without the first of them it would be none."""
    window = latest(us)
    if not window:
        assert len(us) < 12 or sum(us) < 50_001.0
        return
    assert window == us[-len(window) :]
    assert len(window) >= 12
    assert len(window) == 12 or sum(window[1:]) < 50_001.0


def test_steady_steps_have_one_mean() -> None:
    """Noise within a third is none of a drift; a ramp is, and of nothing nothing is known."""
    assert is_steady([5.0] * 12)
    assert is_steady([4.0, 6.0] * 6)
    assert not is_steady([1.0] * 8 + [1.2] * 4)
    assert not is_steady([])
