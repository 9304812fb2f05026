"""What a GPU of a model should measure."""

from __future__ import annotations

import msgspec

from tailwave.model.measurement import FigureKey, Parameters, _figure_key


class ReferenceFigure(msgspec.Struct, frozen=True):
    """One headline figure as the runs behind a reference gave it, in ``unit``.

    ``values`` holds each run's median; ``low`` to ``high`` spans the runs' intervals.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    low: float
    high: float
    parameters: Parameters = msgspec.field(default_factory=dict)

    @property
    def key(self) -> FigureKey:
        """What it has in common with measurements of the same figure."""
        return _figure_key(self.name, self.parameters)


class Reference(msgspec.Struct, frozen=True):
    """What one model of GPU was measured at in several runs (JSON with a schema number).

    Figures that the host has its part in hold for hosts as fast as the one measured; ``drivers``
    and ``started`` say under which drivers and when that was.
    """

    schema: int
    device: str
    sm_count: int
    simulated: bool
    runs: int
    drivers: tuple[str, ...]
    started: tuple[str, ...]  # ISO 8601, UTC, of each run
    figures: tuple[ReferenceFigure, ...]
