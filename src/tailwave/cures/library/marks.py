"""Marks in a program: where a step ends, and which values are its outputs.

Where nothing listens both calls do nothing, at the price of one comparison. Under `tailwave try`,
`fix` and `record` the hook attaches its recorder before the program's first line; inside its `with`
`tailwave.profile` attaches itself, and passes on what it is told.
"""

from __future__ import annotations

from typing import Protocol


class Recorder(Protocol):
    """What is done with the marks; taking one never raises."""

    def step(self) -> None:
        """Take note that a step has ended."""

    def output(self, name: str, value: object) -> None:
        """Take note of an output's value."""

    def stand_back(self) -> None:
        """Use torch's profiler no more: another recorder is about to, and a process has one."""


_recorder: Recorder | None = None


def step() -> None:
    """Mark the end of a step: a request served, a batch trained, a frame drawn.

    The time from mark to mark is what `tailwave try` compares: on the GPU's clock where the program
    uses CUDA through torch, else on the host's. Steps so marked are what `tailwave.profile` and
    `tailwave record` record. A mark never waits for the GPU.
    """
    if _recorder is not None:
        _recorder.step()


def output(name: str, value: object) -> None:
    """Expose an output under a name, so that a trial can tell whether a cure changed it.

    ``value`` is a number, a tensor, an array, or lists of numbers. Of the values exposed under one
    name the last is compared: expose what sums the run up (the final loss, the answer).
    """
    if _recorder is not None:
        _recorder.output(name, value)


def attach(recorder: Recorder | None) -> Recorder | None:
    """Send the marks from now on to a recorder, or to none; return the one before."""
    global _recorder  # one global is what makes a mark near-free outside a trial
    before, _recorder = _recorder, recorder
    return before
