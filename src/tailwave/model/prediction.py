"""What changes to a recorded program would bring."""

from __future__ import annotations

import msgspec

from tailwave.model.diagnosis import Source, StepsSummary, StepTime
from tailwave.model.printable import Printable
from tailwave.model.timeline import DeviceInfo
from tailwave.model.values import TextOrUnknown, Us


class Prediction(msgspec.Struct, frozen=True):
    """What one or several what-ifs would bring together; times are microseconds per step.

    Attributes:
        names: The what-ifs, in the order in which they were applied.
        question: What they ask.
        step_us_now: The step that they count from.
        step_us_after: The step with the changes.
        recoverable_us: The difference; negative when the changes cost time.
        notes: What the changes assumed, or left as it was.
        condition: On what it depends that the recording cannot tell; null where on nothing.
    """

    names: tuple[str, ...]
    question: str
    step_us_now: Us
    step_us_after: Us
    recoverable_us: float
    notes: tuple[str, ...] = ()
    condition: TextOrUnknown = ""


class Predictions(Printable, frozen=True):
    """What ``tailwave whatif`` says of one recording; times are microseconds per step.

    Attributes:
        source: The recording.
        device: The GPU; null when the recording does not describe it.
        steps: The steps as recorded.
        now: The step that every saving counts from.
        what_ifs: Each alone, the most helpful first, those with a condition after the others; or
            the one combination that was asked for.
        combined: The best combination; null when one was asked for, and when none helps.
        notes: What was assumed, left out or repaired.
        next: The command to type next; null where there is nothing to do.
    """

    source: Source
    device: DeviceInfo | None
    steps: StepsSummary
    now: StepTime
    what_ifs: tuple[Prediction, ...]
    combined: Prediction | None
    notes: tuple[str, ...]
    next: TextOrUnknown = ""
