"""Programs of very many steps are thinned: slow steps stay, the others stand for several."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tailwave.model import Timeline
from tailwave.recordings.replay import sample
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.program import Program
from tailwave.recordings.replay.sample import sampled, slow_steps
from tailwave.recordings.timeline.case import Case
from tests.recordings.machine import Machine
from tests.recordings.replay.programs import case_of, program_of

STEPS = 400


def jittery() -> Timeline:
    """Record steps of 10 launches and a wait whose work scatters; every 50th stalls for 3 ms."""
    chance = random.Random(7)  # noqa: S311 - a test's jitter, the same each time
    machine = Machine()
    for number in range(STEPS):
        with machine.step():
            for _ in range(10):
                machine.launch("gemm", round(chance.uniform(10, 40)))
                machine.work(round(chance.uniform(1, 15)))
            if number % 50 == 49:
                machine.work(3_000)
            machine.wait()
    return machine.trace.build()


@pytest.fixture(scope="module")
def case() -> Case:
    """Prepare the recording once."""
    return case_of(jittery())


@pytest.fixture
def thin(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Program, np.ndarray]:
    """Thin its program to a fifth."""
    program = program_of(case)
    monkeypatch.setattr(sample, "ENOUGH_EVENTS", program.events // 5)
    return sampled(program, case.steps.duration)


def test_what_is_small_stays_whole(case: Case) -> None:
    """A recording that can be afforded is replayed as it is."""
    program = program_of(case)
    same, kept = sampled(program, case.steps.duration)
    assert same is program
    assert kept.tolist() == list(range(STEPS))


def test_every_slow_step_is_kept(case: Case, thin: tuple[Program, np.ndarray]) -> None:
    """Each of the eight steps that stall is kept, and stands for itself."""
    program, kept = thin
    slow = np.flatnonzero(slow_steps(case.steps.duration))
    assert slow.tolist() == list(range(49, STEPS, 50))
    assert np.isin(slow, kept).all()
    assert program.weight[np.isin(kept, slow)].tolist() == [1.0] * len(slow)


def test_the_weights_sum_to_the_steps(thin: tuple[Program, np.ndarray]) -> None:
    """Every step is stood for once, by a fifth of them."""
    program, kept = thin
    assert program.step_count == len(kept) < STEPS / 4
    assert program.weight.sum() == pytest.approx(STEPS, rel=1 / STEPS)


def test_the_mean_step_is_kept(case: Case, thin: tuple[Program, np.ndarray]) -> None:
    """The weighed mean of the steps kept, as recorded and as run, is that of all within 1%."""
    program, kept = thin
    duration = case.steps.duration
    assert np.average(duration[kept], weights=program.weight) == pytest.approx(
        duration.mean(), rel=0.01
    )
    assert run(program).step_us == pytest.approx(case.step_us, rel=0.01)


def test_each_step_kept_runs_as_recorded(case: Case, thin: tuple[Program, np.ndarray]) -> None:
    """The steps follow each other as if nothing had been between them."""
    program, kept = thin
    ran, recorded = run(program).step, case.steps.duration[kept]
    assert np.abs(ran - recorded).mean() < 0.01 * recorded.mean()


def test_marks_are_in_order(thin: tuple[Program, np.ndarray]) -> None:
    """Every boundary is there once, in order, and every action and row is in a step kept."""
    program, kept = thin
    marks = program.mark[program.mark >= 0]
    assert marks.tolist() == list(range(len(kept) + 1))
    assert program.row_step.max() == len(kept) - 1
    assert program.step.max() <= len(kept)
