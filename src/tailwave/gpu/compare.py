"""What differs between two sessions beyond their intervals, worst first."""

from __future__ import annotations

from collections.abc import Iterator

from tailwave.gpu.headlines import RESOLUTION, headline, named
from tailwave.gpu.probes.parts import Better
from tailwave.model import Comparison, Difference, FigureKey, Measurement, Session


def compare(before: Session, after: Session) -> Comparison:
    """Compare the headline figures that two sessions have in common."""
    ours, theirs = _headlines(before), _headlines(after)
    pairs = [(ours[key], theirs[key]) for key in ours if key in theirs]
    differences = [_difference(one, other) for one, other in pairs if _apart(one, other)]
    return Comparison(
        before=before,
        after=after,
        differences=tuple(sorted((d for d in differences if not _small(d)), key=_badness)),
        small=tuple(sorted(filter(_small, differences), key=_badness)),
        alike=len(pairs) - len(differences),
        missing=tuple(_missing(before, after)),
    )


def _headlines(session: Session) -> dict[FigureKey, Measurement]:
    """Return the headline figures that have a value."""
    return {m.key: m for m in session.measurements if m.headline and m.value is not None}


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


def _missing(before: Session, after: Session) -> Iterator[str]:
    """Name the figures that only one session has, and say why the other has not."""
    ours, theirs = _headlines(before), _headlines(after)
    for key, figure in {**theirs, **ours}.items():
        words = named(figure.name, figure.parameters)
        if key not in theirs:
            yield f"{words}: only in the first. {_why_not(after, figure.name)}"
        elif key not in ours:
            yield f"{words}: only in the second. {_why_not(before, figure.name)}"


def _why_not(session: Session, name: str) -> str:
    """Return why a session lacks a figure: its own reason, or that of its whole probe."""
    reasons = {m.name: m.reason for m in session.measurements if m.reason}
    return reasons.get(name) or reasons.get(name.partition(".")[0]) or "It was not measured."
