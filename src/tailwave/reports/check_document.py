"""A check as its JSON document: without samples and tables, which the saved session holds."""

from __future__ import annotations

from typing import Self

import msgspec

from tailwave.model import DeviceFacts, Health, MeasuredFigure, Measurement, Session, Verdict
from tailwave.model.values import Count, TextOrUnknown
from tailwave.reports.check_headline import headline
from tailwave.reports.subject import is_simulated


class CountedFigure(MeasuredFigure, frozen=True):
    """One figure that a probe took.

    Attributes:
        samples: How many it rests on.
    """

    samples: Count = 0

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Count the samples of a measurement."""
        fields = {name: getattr(measurement, name) for name in MeasuredFigure.__struct_fields__}
        return cls(**fields, samples=len(measurement.samples))


class CheckDocument(msgspec.Struct, frozen=True):
    """How well a GPU schedules, link by link. What is not known is null.

    Attributes:
        summary: The answer in one sentence.
        health: The whole; decides the exit code.
        simulated: Whether no figure comes from a real GPU.
        started: ISO 8601, UTC.
        seconds: That it took.
        device: What was measured; null where there was none.
        reference: What the device was compared with; null when only bounds of any GPU were.
        cut_short: Why the run ended early; null when it did not.
        verdicts: One a link.
        figures: Every figure, in the order in which they were taken.
        notes: What else is to be known.
    """

    summary: str
    health: Health
    simulated: bool
    started: str
    seconds: float
    device: DeviceFacts | None
    reference: TextOrUnknown
    cut_short: TextOrUnknown
    verdicts: tuple[Verdict, ...]
    figures: tuple[CountedFigure, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, session: Session) -> Self:
        """Sum a session up."""
        return cls(
            summary=headline(session),
            health=session.health,
            simulated=is_simulated(session),
            started=session.started,
            seconds=session.seconds,
            device=session.device,
            reference=session.reference,
            cut_short=session.cut_short,
            verdicts=session.verdicts,
            figures=tuple(map(CountedFigure.of, session.measurements)),
            notes=session.notes,
        )
