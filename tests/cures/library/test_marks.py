"""Marks in a program: nothing outside a trial, the recorder's calls under one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tailwave
from tailwave.cures.library import marks


class Kept:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.told: list[object] = []

    def step(self) -> None:
        """Keep a step."""
        self.told.append("step")

    def output(self, name: str, value: object) -> None:
        """Keep an output."""
        self.told.append((name, value))

    def stand_back(self) -> None:
        """Keep that another records."""
        self.told.append("stands back")


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Attach a recorder for the length of a test."""
    recorder = Kept()
    marks.attach(recorder)
    yield recorder
    marks.attach(None)


def test_marks_go_to_the_recorder(kept: Kept) -> None:
    """In the order in which the program makes them."""
    tailwave.step()
    tailwave.output("loss", 0.5)
    tailwave.step()
    assert kept.told == ["step", ("loss", 0.5), "step"]


def test_marks_without_a_trial_do_nothing(kept: Kept) -> None:
    """With no recorder attached a mark reaches nobody, and any value is fine."""
    marks.attach(None)
    tailwave.step()
    tailwave.output("x", object())
    assert kept.told == []
