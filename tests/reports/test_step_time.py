"""The step that gains count from, in one sentence and one unit."""

from __future__ import annotations

import pytest

from tailwave.model import StepTime
from tailwave.reports.step_time import step_time

RECORDED = StepTime(
    us=15_100.0, low_us=15_100.0, high_us=15_100.0, by="recorded", recorded_us=15_100.0
)
ESTIMATED = StepTime(us=880.0, low_us=640.0, high_us=1_300.0, by="estimated", recorded_us=1_910.0)
MEASURED = StepTime(us=880.0, low_us=880.0, high_us=880.0, by="measured", recorded_us=1_910.0)


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (RECORDED, "15.1 ms a step, as recorded"),
        (
            ESTIMATED,
            "0.880 ms a step (0.640 ms to 1.30 ms), likely without the profiler; recorded 1.91 ms",
        ),
        (MEASURED, "0.880 ms a step, measured without the recorder; recorded 1.91 ms"),
    ],
    ids=lambda value: value.by if isinstance(value, StepTime) else "",
)
def test_how_the_time_is_known(now: StepTime, words: str) -> None:
    """As recorded, estimated with its range, or measured; the recorded time where it is another."""
    assert step_time(now) == words


def test_a_step_of_no_length() -> None:
    """Has no cost of a recorder to take off."""
    nothing = StepTime(us=0.0, low_us=0.0, high_us=0.0, by="recorded", recorded_us=0.0)
    assert step_time(nothing) == "0 us a step, as recorded"
