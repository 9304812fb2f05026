"""A comparison as its JSON document: the sessions in short, each difference with its figures."""

from __future__ import annotations

from typing import Self

import msgspec

from tailwave.model import Comparison, Difference, Measurement, Parameters, Session
from tailwave.model.values import Count


class ComparedSession(msgspec.Struct, frozen=True):
    """One of the two sessions.

    Attributes:
        device: The name of what was measured; null where there was no device.
        simulated: Whether it is no real device.
        started: ISO 8601, UTC.
        tool_version: Of the tailwave that measured.
    """

    device: str | None
    simulated: bool | None
    started: str
    tool_version: str

    @classmethod
    def of(cls, session: Session) -> Self:
        """Sum a session up."""
        device = session.device
        return cls(
            device=device.name if device else None,
            simulated=device.simulated if device else None,
            started=session.started,
            tool_version=session.tool_version,
        )


class Interval(msgspec.Struct, frozen=True):
    """A median, and its 95% confidence interval."""

    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Take a measurement's figures."""
        return cls(measurement.value, *measurement.interval)


class ComparedFigure(msgspec.Struct, frozen=True):
    """A figure whose intervals do not meet.

    Attributes:
        name: ``probe.figure``: ``launch.graph_node``.
        parameters: What it was taken at.
        what: The figure in words.
        unit: Of both.
        before: In the first session.
        after: In the second session.
        change: After over before, less 1; null where before is 0.
        worse: Null for a figure of which neither more nor less is better.
        decides: What the figure decides for work on the GPU.
    """

    name: str
    parameters: Parameters
    what: str
    unit: str
    before: Interval
    after: Interval
    change: float | None
    worse: bool | None
    decides: str

    @classmethod
    def of(cls, difference: Difference) -> Self:
        """Describe a difference."""
        return cls(
            name=difference.before.name,
            parameters=difference.before.parameters,
            what=difference.what,
            unit=difference.before.unit,
            before=Interval.of(difference.before),
            after=Interval.of(difference.after),
            change=difference.change,
            worse=difference.worse,
            decides=difference.decides,
        )


class ComparisonDocument(msgspec.Struct, frozen=True):
    """The headline figures in which two sessions differ beyond their intervals, worst first.

    Attributes:
        before: The first session.
        after: The second session.
        differences: The worst first.
        small: Beyond the intervals, but below what two checks of one GPU differ by.
        alike: Figures whose intervals meet.
        missing: Figures that only one session has, and why.
    """

    before: ComparedSession
    after: ComparedSession
    differences: tuple[ComparedFigure, ...]
    small: tuple[ComparedFigure, ...]
    alike: Count
    missing: tuple[str, ...]

    @classmethod
    def of(cls, comparison: Comparison) -> Self:
        """Describe a comparison."""
        return cls(
            before=ComparedSession.of(comparison.before),
            after=ComparedSession.of(comparison.after),
            differences=tuple(map(ComparedFigure.of, comparison.differences)),
            small=tuple(map(ComparedFigure.of, comparison.small)),
            alike=comparison.alike,
            missing=comparison.missing,
        )
