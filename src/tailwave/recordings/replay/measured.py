"""The program as it runs in a time that was measured without the recorder.

Better than any estimate: one factor on what the host issues is chosen such that a step takes as
long as it was measured to take.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tailwave.errors import UsageError
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.overhead import (
    GPU_SPREAD,
    ISSUING,
    host_times,
    unprofiled,
    without_recording,
)
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case

# How near to the measured time a program's step has to come, as a share of it.
NEAR = 0.005
# Enough to halve any factor down to what changes nothing.
_HALVINGS = 24
# The times of a program in which no GPU work runs, and all of them.
_IDLE = ("work", "hold", "target_lag", "latency", "gap", "dep_lag")
_ALL = (*_IDLE, "duration")


class ImpossibleTimeError(UsageError):
    """A measured time that the recorded work cannot take; ``bound_us`` is what it can."""

    def __init__(self, sentence: str, measured_us: float, bound_us: float) -> None:
        """Say why it cannot."""
        super().__init__(sentence)
        self.measured_us, self.bound_us = measured_us, bound_us


def at_measured(case: Case, program: Program, measured_ns: int) -> Program:
    """Scale a recorded program until its step takes the measured time.

    One factor is taken on the host's issuing. Where the step would be too long even without any,
    the factor is taken on all in which no GPU work runs. Clocks and memory change a whole run by a
    few per cent: so much may a step differ that the GPU fills, and then everything is scaled.

    Raises ImpossibleTimeError for less than the GPU's own work takes, and for more than the
    recorded step.
    """
    target = measured_ns / 1e3
    likely = unprofiled(case, program).likely
    recorded, expected = run(program).step_us, run(likely).step_us
    if abs(expected - target) <= NEAR * target:
        return likely
    base = without_recording(case, program)
    ways: tuple[Callable[[float], Program], ...] = (
        lambda factor: host_times(base, factor, ISSUING),
        lambda factor: _times(base, factor, _IDLE),
    )
    scaled = _reached(ways[0], target)
    if scaled is not None:
        return scaled
    for near, now in ((likely, expected), (program, recorded)):
        if abs(target - now) <= GPU_SPREAD * now:
            return _times(near, target / now, _ALL)
    if target > recorded:
        sentence = (
            f"A step of {target:,.0f} us is longer than the recorded one of {recorded:,.0f} us, "
            "which holds the recorder's cost besides: give the time of the work that was recorded."
        )
        raise ImpossibleTimeError(sentence, target, recorded)
    scaled = _reached(ways[1], target)
    if scaled is not None:
        return scaled
    least = run(ways[1](0.0)).step_us
    sentence = (
        f"A step of {target:,.0f} us is shorter than the {least:,.0f} us that the GPU's own work "
        "takes: give the time of the work that was recorded."
    )
    raise ImpossibleTimeError(sentence, target, least)


def _reached(way: Callable[[float], Program], target: float) -> Program | None:
    """Return the program whose step takes the target (us), by a factor of 0 to 1; None if none."""
    low, high = 0.0, 1.0
    if not run(way(low)).step_us <= target <= run(way(high)).step_us:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        now = run(way(middle)).step_us
        if abs(now - target) <= NEAR * target:
            break
        low, high = (middle, high) if now < target else (low, middle)
    return way(middle)


def _times(program: Program, factor: float, names: tuple[str, ...]) -> Program:
    """Multiply times of a program."""
    return msgspec.structs.replace(
        program,
        **{name: np.rint(getattr(program, name) * factor).astype(np.int64) for name in names},
    )
