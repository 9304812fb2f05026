"""What differs between two sessions beyond their intervals, worst first."""

from __future__ import annotations

from collections.abc import Iterator

from tailwave.headlines import RESOLUTION, Better, headline, named
from tailwave.model import Comparison, Difference, FigureKey, Measurement, Session, Status


def compare(before: Session, after: Session) -> Comparison:
    """Compare the headline figures that two sessions have in common."""
    ours, theirs = _headlines(before), _headlines(after)
    pairs = [(ours[key], theirs[key]) for key in ours if key in theirs]
    measured = [(one, other) for one, other in pairs if _ok(one) and _ok(other)]
    differences = [_difference(one, other) for one, other in measured if _apart(one, other)]
    return Comparison(
        before=before,
        after=after,
        differences=tuple(sorted((d for d in differences if not _small(d)), key=_badness)),
        small=tuple(sorted(filter(_small, differences), key=_badness)),
        alike=len(measured) - len(differences),
        missing=tuple(_missing(ours, theirs)),
    )


def _headlines(session: Session) -> dict[FigureKey, Measurement]:
    return {m.key: m for m in session.measurements if m.headline}


def _ok(measurement: Measurement) -> bool:
    return measurement.status is Status.OK and measurement.value is not None


def _apart(one: Measurement, other: Measurement) -> bool:
    """Tell whether two intervals do not meet."""
    one_low, one_high = one.interval
    other_low, other_high = other.interval
    return one_high < other_low or other_high < one_low


def _difference(before: Measurement, after: Measurement) -> Difference:
    words = headline(before.name)
    one, other = before.value or 0.0, after.value or 0.0
    return Difference(
        what=named(before.name, before.parameters),
        before=before,
        after=after,
        change=other / one - 1 if one else None,
        worse=_worse(one, other, words.better),
        decides=words.decides,
    )


def _worse(before: float, after: float, better: Better) -> bool | None:
    if better is Better.NEITHER:
        return None
    return after > before if better is Better.LESS else after < before


def _small(difference: Difference) -> bool:
    return difference.change is not None and abs(difference.change) < RESOLUTION


def _badness(difference: Difference) -> tuple[int, float]:
    """Sort what got worse first, what has no better side next; the greatest change first."""
    group = {True: 0, None: 1, False: 2}[difference.worse]
    size = float("inf") if difference.change is None else _factor(difference.change)
    return group, -size


def _factor(change: float) -> float:
    """Return how many times one value is of the other, so that half is as far off as double."""
    ratio = abs(1 + change)
    return max(ratio, 1 / ratio) if ratio else float("inf")


def _missing(
    ours: dict[FigureKey, Measurement], theirs: dict[FigureKey, Measurement]
) -> Iterator[str]:
    """Name the figures that only one session has, and say why."""
    for key in {**ours, **theirs}:
        one, other = ours.get(key), theirs.get(key)
        figure = one or theirs[key]
        name = named(figure.name, figure.parameters)
        if (one is not None and _ok(one)) and not (other is not None and _ok(other)):
            yield f"{name}: only in the first. {other.reason if other else 'Not measured.'}"
        elif (other is not None and _ok(other)) and not (one is not None and _ok(one)):
            yield f"{name}: only in the second. {one.reason if one else 'Not measured.'}"
