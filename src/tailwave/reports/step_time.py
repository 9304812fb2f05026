"""The step that gains count from, in words."""

from __future__ import annotations

from tailwave.figures import in_one_unit
from tailwave.model import StepTime

_SAME = 0.005  # of a step: no more than this apart, two times are the same to a reader


def step_time(now: StepTime) -> str:
    """Word a step's time, how it is known, and the recorded one where that is another."""
    us, low, high, recorded = in_one_unit(now.us, now.low_us, now.high_us, now.recorded_us)
    if abs(now.recorded_us - now.us) <= _SAME * now.recorded_us:
        return f"{us} a step, as recorded"
    if now.by == "measured":
        return f"{us} a step, measured without the recorder; recorded {recorded}"
    return f"{us} a step ({low} to {high}), likely without the profiler; recorded {recorded}"
