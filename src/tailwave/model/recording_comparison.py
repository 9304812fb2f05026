"""How two recordings of the same work differ."""

from __future__ import annotations

import msgspec

from tailwave.model.diagnosis import Source, StepsSummary, StepTime
from tailwave.model.printable import Printable
from tailwave.model.timeline import DeviceInfo
from tailwave.model.values import Count, TextOrUnknown, Us


class ComparedRecording(msgspec.Struct, frozen=True):
    """One of two recordings.

    Attributes:
        source: Where it comes from.
        rank: The rank that is compared: of several the slowest.
        device: The GPU.
        steps: Its steps as recorded.
        now: The step without the recorder, measured or likely.
    """

    source: Source
    rank: int
    device: DeviceInfo
    steps: StepsSummary
    now: StepTime


class DifferencePart(msgspec.Struct, frozen=True):
    """What one cause has to do with the difference of two steps.

    Attributes:
        what: Its name.
        label: The same in words.
        us: Microseconds of the mean step; below 0 where the second recording needs less.
        detail: The figures behind it; null without.
    """

    what: str
    label: str
    us: float
    detail: TextOrUnknown = ""


class ComparedShare(msgspec.Struct, frozen=True):
    """A part of the steps' time, as ``tailwave diagnose`` divides them.

    Attributes:
        what: The share.
        label: The same in words.
        before_us: Microseconds of the mean step of the first recording.
        after_us: Of the second.
    """

    what: str
    label: str
    before_us: Us
    after_us: Us


class ComparedWork(msgspec.Struct, frozen=True):
    """Kernels, or calls of the host, that are one another's in two recordings.

    Attributes:
        before: The name in the first recording; null for what only the second has.
        after: The name in the second; null for what only the first has.
        before_calls: Calls a step in the first.
        after_calls: Calls a step in the second.
        before_us: Microseconds of a step in the first.
        after_us: Microseconds of a step in the second.
    """

    before: TextOrUnknown
    after: TextOrUnknown
    before_calls: float
    after_calls: float
    before_us: Us
    after_us: Us

    @property
    def change_us(self) -> float:
        """How much more time it takes in the second recording."""
        return self.after_us - self.before_us


class MatchedKernels(msgspec.Struct, frozen=True):
    """How many kernels of the typical steps are one another's.

    Attributes:
        before: All of the first recording.
        after: All of the second.
        by_name: Those that have a counterpart of the same name.
        by_operator: Those that have one only in the same operator.
    """

    before: Count
    after: Count
    by_name: Count
    by_operator: Count


class RecordingComparison(Printable, frozen=True):
    """What ``tailwave compare`` says of two recordings of the same work, as recorded.

    Attributes:
        before: The first recording.
        after: The second.
        difference_us: The mean step of the second less that of the first.
        low_us: The difference is no less than this, as far as the steps' own scatter tells (95%);
            null where a recording has but one step.
        high_us: It is no more than this.
        parts: The difference divided by cause, what does most first: the parts sum to it.
        shares: Where the time of both steps goes.
        matched: How well the kernels of both agree.
        kernels: All GPU work of the steps, by name, what changed most first.
        calls: The host's calls of the runtime in the steps, what changed most first.
        notes: What was assumed, left out or repaired.
    """

    before: ComparedRecording
    after: ComparedRecording
    difference_us: float
    low_us: float | None
    high_us: float | None
    parts: tuple[DifferencePart, ...]
    shares: tuple[ComparedShare, ...]
    matched: MatchedKernels
    kernels: tuple[ComparedWork, ...]
    calls: tuple[ComparedWork, ...]
    notes: tuple[str, ...]
