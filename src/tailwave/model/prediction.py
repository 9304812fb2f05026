"""What changes to a recorded program would bring."""

from __future__ import annotations

import msgspec

from tailwave.model.diagnosis import Source, StepsSummary
from tailwave.model.timeline import DeviceInfo


class Prediction(msgspec.Struct, frozen=True):
    """What one or several what-ifs would bring; times are microseconds per step.

    ``notes`` says what the change assumed, or refused to change.
    """

    names: tuple[str, ...]
    question: str
    step_us_now: float
    step_us_after: float
    notes: tuple[str, ...] = ()

    @property
    def recoverable_us(self) -> float:
        """Time saved a step; negative when the change costs time."""
        return self.step_us_now - self.step_us_after


class Predictions(msgspec.Struct, frozen=True):
    """Everything that ``tailwave whatif`` says about one recording, ready to be rendered.

    ``step_us_now`` is the likely time without the profiler, between ``step_us_low`` and
    ``step_us_high``. ``combined`` is the best combination, where combinations were tried.
    """

    source: Source
    device: DeviceInfo | None
    steps: StepsSummary
    step_us_now: float
    step_us_low: float
    step_us_high: float
    answers: tuple[Prediction, ...]
    combined: Prediction | None
    notes: tuple[str, ...]
