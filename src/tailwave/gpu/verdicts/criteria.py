"""How a figure is held against a bound.

A figure is a median with an interval. Where the median keeps the bound it is OK. Where the whole
interval breaks it, that is a breach, as bad as the criterion says. Where the median breaks it and a
part of the interval does not, the breach is likely and not proven: a WARNING. A figure that could
not be had is UNKNOWN, with the reason.
"""

from __future__ import annotations

import msgspec

from tailwave.model import Basis, Criterion, Health, Measurement, Status


def within(  # noqa: PLR0913 - a bound has two sides
    what: str,
    figure: Measurement,
    *,
    least: float | None = None,
    most: float | None = None,
    breach: Health = Health.CRITICAL,
    unproven: Health = Health.WARNING,
    basis: Basis = Basis.ANY_GPU,
) -> Criterion:
    """Hold a measurement against a bound in its own unit.

    ``breach`` is the health when all of the interval breaks the bound, ``unproven`` when the median
    does and a part of the interval does not.
    """
    if figure.value is None:
        return Criterion(what, basis, Health.UNKNOWN, reason=figure.reason)
    low, high = figure.interval
    if _keeps(figure.value, figure.value, least, most):
        health = Health.OK
    else:
        health = unproven if _keeps(low, high, least, most) else breach
    return Criterion(
        what=what,
        basis=basis,
        health=health,
        value=figure.value,
        unit=figure.unit,
        least=least,
        most=most,
    )


def quotient(  # noqa: PLR0913 - a bound has two sides
    what: str,
    figure: Measurement,
    other: Measurement,
    *,
    least: float | None = None,
    most: float | None = None,
    breach: Health = Health.CRITICAL,
) -> Criterion:
    """Hold the quotient of two measurements of one unit against a bound."""
    return within(what, divided(figure, other), least=least, most=most, breach=breach)


def divided(figure: Measurement, other: Measurement) -> Measurement:
    """Return one measurement over another, or the reason why there is no such figure.

    Its interval is the widest that the two intervals allow.
    """
    for one in (figure, other):
        if one.value is None:
            return Measurement(one.name, one.status, reason=one.reason)
    low, high = figure.interval
    other_low, other_high = other.interval
    if figure.value is None or not other.value or other_low <= 0:
        reason = f"{other.name} is not above 0, so nothing can be compared with it."
        return Measurement(figure.name, Status.FAILED, reason=reason)
    return Measurement(
        figure.name,
        Status.OK,
        unit="x",
        value=figure.value / other.value,
        low=low / other_high,
        high=high / other_low,
    )


def times(figure: Measurement, factor: float, unit: str = "") -> Measurement:
    """Return a multiple of a measurement, in another unit if one is given.

    One without a value stays as it is.
    """
    if figure.value is None:
        return figure
    low, high = figure.interval
    return msgspec.structs.replace(
        figure,
        unit=unit or figure.unit,
        value=figure.value * factor,
        low=low * factor,
        high=high * factor,
        samples=(),
    )


def _keeps(low: float, high: float, least: float | None, most: float | None) -> bool:
    """Tell whether any of an interval keeps a bound."""
    return (least is None or least <= high) and (most is None or low <= most)
