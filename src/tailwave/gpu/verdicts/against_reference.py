"""Holds headline figures against what GPUs of the same model were measured at before.

A reference has n runs, and each figure their medians. If runs scatter normally, the next run of a
healthy GPU is worse than their mean by more than ``t s sqrt(1 + 1/n)`` once in a thousand figures:
a prediction interval, with ``s`` the runs' standard deviation and ``t`` Student's one-sided 99.9%
quantile for n - 1 degrees of freedom. Once in a thousand, because a check looks at some thirty
figures. Few runs know little of their spread, so their bound is wide: five runs allow 8 ``s``.

Below ``RESOLUTION`` nothing is called a difference, however alike the reference's runs were.

A figure worse than the bound is a WARNING and never CRITICAL: that the GPU is slower than its like
is proven, that the link defeats its purpose is not. Better than the reference is healthy, and a
figure without a better side (the number of GPCs) is not judged.

Figures that the host has its part in are compared only where the host itself is as fast as the
reference's: a step of an empty loop takes as long. Else a slow host would look like a slow GPU.
"""

from __future__ import annotations

import statistics
from typing import Final

from tailwave.gpu.headlines import RESOLUTION, headline, named
from tailwave.gpu.probes.parts import Better
from tailwave.gpu.verdicts.criteria import within
from tailwave.model import (
    Basis,
    Criterion,
    FigureKey,
    Health,
    Measurement,
    Reference,
    ReferenceFigure,
)
from tailwave.stats import prediction_interval

# Of a prediction interval, of which 0.1% lie beyond either end.
_CONFIDENCE: Final = 0.998


def against_reference(
    measurements: list[Measurement], reference: Reference | None, host: Measurement
) -> tuple[Criterion, ...]:
    """Return one criterion for each headline figure that the reference has too.

    ``host`` is how fast the host is by itself.
    """
    known = {figure.key: figure for figure in reference.figures} if reference else {}
    other_host = _other_host(host, known)
    return tuple(
        _criterion(measurement, known[measurement.key], other_host)
        for measurement in measurements
        if _is_judged(measurement) and measurement.key in known
    )


def _other_host(host: Measurement, known: dict[FigureKey, ReferenceFigure]) -> str:
    """Say why this host cannot be compared with the reference's; "" when it can."""
    figure = known.get(host.key)
    if host.value is None or figure is None:
        return "How fast this host is against the reference's is not known."
    usual, reach = statistics.fmean(figure.values), tolerance(figure)
    low, high = host.interval
    if low <= usual + reach and usual - reach <= high:
        return ""
    slower = "slower" if host.value > usual else "faster"
    return f"This host is {slower} than the reference's, and has its part in the figure."


def _is_judged(measurement: Measurement) -> bool:
    """Tell whether a figure has a worse side: one that only tells GPUs apart is no fault."""
    has_a_worse_side = headline(measurement.name).better is not Better.NEITHER
    return measurement.headline and measurement.value is not None and has_a_worse_side


def _criterion(measurement: Measurement, figure: ReferenceFigure, other_host: str) -> Criterion:
    what = named(measurement.name, measurement.parameters)
    if other_host and headline(measurement.name).host:
        return Criterion(what, Basis.REFERENCE, Health.UNKNOWN, reason=other_host)
    better = headline(measurement.name).better
    usual = statistics.fmean(figure.values)
    reach = tolerance(figure)
    return within(
        what,
        measurement,
        least=usual - reach if better is Better.MORE else None,
        most=usual + reach if better is Better.LESS else None,
        breach=Health.WARNING,
        unproven=Health.OK,
        basis=Basis.REFERENCE,
    )


def tolerance(figure: ReferenceFigure) -> float:
    """Return how far from the reference's mean a healthy GPU's figure may lie, in its unit."""
    usual = prediction_interval(figure.values, _CONFIDENCE)
    return max(usual.high - usual.mean, RESOLUTION * abs(usual.mean))
